/// What the library has to say to a person, in English and German.
extension CompletionPage {
    /// The person is signed in.
    ///
    /// - Parameter appName: Where the person goes back to; without a name the page speaks of the app.
    public static func signedIn(appName: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Signed in" + app.suffix, heading: "You are signed in",
                    message: "You can close this page and go back to \(app.english)."),
                Text(
                    language: "de", title: "Angemeldet" + app.suffix, heading: "Sie sind angemeldet",
                    message: "Sie können diese Seite schließen und \(app.toGerman) zurückkehren."),
            ], isSuccess: true)
    }

    /// The person is not signed in.
    ///
    /// - Parameters:
    ///   - appName: The app's name; nil for none.
    ///   - reason: One line for a person, for example the message of an ``AuthError``.
    public static func failed(appName: String? = nil, reason: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Not signed in" + app.suffix, heading: "The sign-in did not succeed",
                    message: "You are not signed in. Go back to \(app.english) to try again."),
                Text(
                    language: "de", title: "Nicht angemeldet" + app.suffix,
                    heading: "Die Anmeldung ist fehlgeschlagen",
                    message: "Sie sind nicht angemeldet. Kehren Sie \(app.toGerman) zurück, um es noch einmal zu "
                        + "versuchen."),
            ], reason: reason, isSuccess: false)
    }

    /// The person is signed out.
    public static func signedOut(appName: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Signed out" + app.suffix, heading: "You are signed out",
                    message: "You can close this page and go back to \(app.english)."),
                Text(
                    language: "de", title: "Abgemeldet" + app.suffix, heading: "Sie sind abgemeldet",
                    message: "Sie können diese Seite schließen und \(app.toGerman) zurückkehren."),
            ], isSuccess: true)
    }

    /// For a redirect that is not the awaited one, while that is still awaited.
    static let foreignRedirect = CompletionPage(
        texts: [
            Text(
                language: "en", title: "Not this sign-in", heading: "This page does not belong to the current sign-in",
                message: "Nothing was changed. If you are signing in, continue in the page that was opened last."),
            Text(
                language: "de", title: "Andere Anmeldung", heading: "Diese Seite gehört nicht zur laufenden Anmeldung",
                message: "Es wurde nichts geändert. Wenn Sie sich gerade anmelden, fahren Sie auf der Seite fort, "
                    + "die zuletzt geöffnet wurde."),
        ], isSuccess: false)

    /// For a redirect after the awaited one, that one once more included.
    static func usedRedirect(appName: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Already used", heading: "This sign-in was already used",
                    message: "The app has its response, and this page changes nothing. Go back to \(app.english)."),
                Text(
                    language: "de", title: "Bereits verwendet", heading: "Diese Anmeldung wurde bereits verwendet",
                    message: "Die App hat ihre Antwort, und diese Seite ändert nichts. Kehren Sie \(app.toGerman) "
                        + "zurück."),
            ], isSuccess: false)
    }

    /// For a one-time URL that was opened before.
    static func usedLink(appName: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Already used", heading: "This link was already used",
                    message: "It opens once. Go back to \(app.english) to start again."),
                Text(
                    language: "de", title: "Bereits verwendet", heading: "Dieser Link wurde bereits verwendet",
                    message: "Er lässt sich nur einmal öffnen. Kehren Sie \(app.toGerman) zurück, um neu zu beginnen."),
            ], isSuccess: false)
    }
}

/// The app as the sentences name it.
private struct AppWords {
    let suffix: String
    let english: String
    let toGerman: String

    init(_ name: String?) {
        suffix = name.map { " – " + $0 } ?? ""
        english = name ?? "the app"
        toGerman = name.map { "zu " + $0 } ?? "zur App"
    }
}
