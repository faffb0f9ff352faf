/// The library's pages for the user, in English and German.
extension CompletionPage {
    /// Returns the page for a successful sign-in.
    ///
    /// - Parameter appName: The app that the user returns to. If nil, the page says "the app".
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

    /// Returns the page for a failed sign-in.
    ///
    /// - Parameters:
    ///   - appName: The app's name, or nil.
    ///   - reason: One line for the user, for example the message of an ``AuthError``.
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

    /// Returns the page for a sign-out.
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

    /// The page for a redirect that is not the awaited one, before the awaited one arrives.
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

    /// Returns the page for any redirect after the awaited one, including a repetition of it.
    static func usedRedirect(appName: String? = nil) -> CompletionPage {
        let app = AppWords(appName)
        return CompletionPage(
            texts: [
                Text(
                    language: "en", title: "Already used", heading: "This sign-in was already used",
                    message: "This page changes nothing. Go back to \(app.english)."),
                Text(
                    language: "de", title: "Bereits verwendet", heading: "Diese Anmeldung wurde bereits verwendet",
                    message: "Diese Seite ändert nichts. Kehren Sie \(app.toGerman) "
                        + "zurück."),
            ], isSuccess: false)
    }

    /// Returns the page for a one-time URL that was opened before.
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

/// The app's name as the sentences use it.
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
