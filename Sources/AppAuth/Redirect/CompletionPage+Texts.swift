/// The library's pages for the user, in English and German.
extension CompletionPage {
    /// Returns the page for a successful sign-in.
    ///
    /// - Parameters:
    ///   - appName: The app that the user returns to. If nil, the page says "the app".
    ///   - inTerminal: Whether the app runs in a terminal. The page then says "the terminal".
    public static func signedIn(appName: String? = nil, inTerminal: Bool = false) -> CompletionPage {
        let app = AppWords(appName, inTerminal)
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
    ///   - appName: The app that the user returns to. If nil, the page says "the app".
    ///   - inTerminal: Whether the app runs in a terminal. The page then says "the terminal".
    ///   - reason: One line for the user, for example the message of an ``AuthError``.
    public static func failed(
        appName: String? = nil, inTerminal: Bool = false, reason: String? = nil
    ) -> CompletionPage {
        let app = AppWords(appName, inTerminal)
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
    ///
    /// - Parameters:
    ///   - appName: The app that the user returns to. If nil, the page says "the app".
    ///   - inTerminal: Whether the app runs in a terminal. The page then says "the terminal".
    public static func signedOut(appName: String? = nil, inTerminal: Bool = false) -> CompletionPage {
        let app = AppWords(appName, inTerminal)
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
    static func usedRedirect(appName: String?, inTerminal: Bool) -> CompletionPage {
        let app = AppWords(appName, inTerminal)
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
    static func usedLink(appName: String?, inTerminal: Bool) -> CompletionPage {
        let app = AppWords(appName, inTerminal)
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

/// The app, or its terminal, in the words of the sentences.
private struct AppWords {
    let suffix: String
    let english: String
    let toGerman: String

    init(_ name: String?, _ inTerminal: Bool) {
        suffix = name.map { " – " + $0 } ?? ""
        english = inTerminal ? "the terminal" : name ?? "the app"
        toGerman = inTerminal ? "zum Terminal" : name.map { "zu " + $0 } ?? "zur App"
    }
}
