/// A page that a browser shows when it reaches the listener, mainly the outcome of a sign-in, in the user's language.
///
/// ```swift
/// var page = CompletionPage.signedIn(appName: "My App")
/// page.texts.append(.init(language: "fr", title: "Connecté", heading: "Connecté", message: "Revenez à My App."))
/// await listener.finish(with: page)
/// ```
/// The texts are plain text; the page escapes them. The page needs no script. It does not promise to close the tab,
/// since only a page that a script opened can close itself.
public struct CompletionPage: Sendable, Hashable {
    /// The texts of the page, one for each language. If the browser requests none of them, the page shows the first.
    public var texts: [Text]
    /// The reason for a failure, in any language, shown below the message. At most 300 characters are shown.
    public var reason: String?
    /// Whether the page shows the success icon or the failure icon.
    public var isSuccess: Bool
    /// The app's own page or address, shown in place of the library's page.
    public var replacement: Replacement?

    /// The texts of a page in one language.
    public struct Text: Sendable, Hashable {
        /// The language (BCP 47), for example `de`.
        public var language: String
        /// The title of the tab.
        public var title: String
        /// The main statement.
        public var heading: String
        /// The next step for the user.
        public var message: String

        /// Creates the texts of one language.
        public init(language: String, title: String, heading: String, message: String) {
            (self.language, self.title, self.heading, self.message) = (language, title, heading, message)
        }
    }

    /// The content that replaces the library's page.
    public enum Replacement: Sendable, Hashable {
        /// A complete HTML document, sent unchanged: escape the values that you insert. It may have inline styles and
        /// images in `data:` URLs. The Content-Security-Policy blocks scripts, forms and external content.
        case html(String)
        /// An address that the browser is redirected to. It receives neither the code nor the reason.
        case url(String)
    }

    /// Creates a page from an app's own texts.
    public init(texts: [Text], reason: String? = nil, isSuccess: Bool) {
        (self.texts, self.reason, self.isSuccess) = (texts, reason, isSuccess)
    }
}
