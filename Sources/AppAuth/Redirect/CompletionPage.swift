/// A page that a browser shows when it comes to the listener: above all how a sign-in has ended, in the person's language.
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
    /// The app's own page or address in place of all of this.
    public var replacement: Replacement?

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

    /// What the browser gets in place of the library's page.
    public enum Replacement: Sendable, Hashable {
        /// A whole HTML document, sent as it is: escape what you put into it. It may have inline styles and images in
        /// `data:` URLs; browsers are told to block scripts, forms, and whatever would have to be fetched.
        case html(String)
        /// An address that the browser is sent on to. It learns neither the code nor the reason.
        case url(String)
    }

    /// Makes a page of an app's own words.
    public init(texts: [Text], reason: String? = nil, isSuccess: Bool) {
        (self.texts, self.reason, self.isSuccess) = (texts, reason, isSuccess)
    }
}
