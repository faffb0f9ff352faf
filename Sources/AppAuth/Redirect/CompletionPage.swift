internal import AppAuthCore

/// The page that a browser shows when a sign-in or sign-out has come to its end, in the person's language.
///
/// ```swift
/// var page = CompletionPage.signedIn(appName: "Harbour")
/// page.texts.append(.init(language: "fr", title: "Connecté", heading: "Connecté", message: "Revenez à Harbour."))
/// await listener.finish(with: page)
/// ```
/// The texts are plain text; whatever they hold is escaped. The page needs no script, and it never promises to close
/// the tab: a page that a script did not open cannot do that.
public struct CompletionPage: Sendable, Hashable {
    /// What the page says in each language. The first is shown where the browser asks for none of them.
    public var texts: [Text]
    /// Why it failed, in whatever language the reason came; shown below the message. At most 300 characters are shown.
    public var reason: String?
    /// Whether the page carries the sign of success or that of failure.
    public var isSuccess: Bool

    /// The words of a page in one language.
    public struct Text: Sendable, Hashable {
        /// The language (BCP 47), for example `de`.
        public var language: String
        /// The title of the tab.
        public var title: String
        /// The one line to read.
        public var heading: String
        /// What to do now.
        public var message: String

        /// Puts the words together.
        public init(language: String, title: String, heading: String, message: String) {
            (self.language, self.title, self.heading, self.message) = (language, title, heading, message)
        }
    }

    /// Makes a page of an app's own words.
    public init(texts: [Text], reason: String? = nil, isSuccess: Bool) {
        (self.texts, self.reason, self.isSuccess) = (texts, reason, isSuccess)
    }

    /// The person is signed in. English and German.
    public static func signedIn(appName: String) -> CompletionPage {
        let texts = [
            Text(
                language: "en", title: "Signed in – \(appName)", heading: "You are signed in",
                message: "You can close this page and go back to \(appName)."),
            Text(
                language: "de", title: "Angemeldet – \(appName)", heading: "Sie sind angemeldet",
                message: "Sie können diese Seite schließen und zu \(appName) zurückkehren."),
        ]
        return CompletionPage(texts: texts, isSuccess: true)
    }

    /// The person is not signed in. English and German.
    ///
    /// - Parameter reason: One line for a person, for example the message of an ``AuthError``.
    public static func failed(appName: String, reason: String? = nil) -> CompletionPage {
        let texts = [
            Text(
                language: "en", title: "Not signed in – \(appName)", heading: "The sign-in did not succeed",
                message: "You are not signed in. Go back to \(appName) to try again."),
            Text(
                language: "de", title: "Nicht angemeldet – \(appName)", heading: "Die Anmeldung ist fehlgeschlagen",
                message: "Sie sind nicht angemeldet. Kehren Sie zu \(appName) zurück, um es noch einmal zu versuchen."),
        ]
        return CompletionPage(texts: texts, reason: reason, isSuccess: false)
    }

    /// The person is signed out. English and German.
    public static func signedOut(appName: String) -> CompletionPage {
        let texts = [
            Text(
                language: "en", title: "Signed out – \(appName)", heading: "You are signed out",
                message: "You can close this page and go back to \(appName)."),
            Text(
                language: "de", title: "Abgemeldet – \(appName)", heading: "Sie sind abgemeldet",
                message: "Sie können diese Seite schließen und zu \(appName) zurückkehren."),
        ]
        return CompletionPage(texts: texts, isSuccess: true)
    }
}
