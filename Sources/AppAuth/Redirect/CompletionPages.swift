/// The pages that the listener shows to the user, and their colours. An app can change all of them.
///
/// ```swift
/// var pages = CompletionPages(appName: "My App")
/// pages.light.success = 0x00488A
/// pages.signedIn.texts[0].message = "My App is loading your mail."
/// pages.failed.replacement = .url("https://my-app.example/help/sign-in")
/// signIn.pages = pages
/// ```
public struct CompletionPages: Sendable, Hashable {
    /// Shown when the user is signed in.
    public var signedIn: CompletionPage
    /// Shown when the sign-in failed, with the reason if there is one.
    public var failed: CompletionPage
    /// Shown when the user is signed out.
    public var signedOut: CompletionPage
    /// Shown for a redirect from another tab or an earlier attempt, before the awaited one arrives.
    public var foreignRedirect: CompletionPage
    /// Shown for any redirect after the awaited one, including a repetition of it.
    public var usedRedirect: CompletionPage
    /// Shown for a one-time URL that was opened before.
    public var usedLink: CompletionPage
    /// The colours for a light desktop.
    public var light = Palette.light
    /// The colours for a dark desktop.
    public var dark = Palette.dark

    /// Creates the library's own pages, in English and German.
    ///
    /// - Parameters:
    ///   - appName: The app that the user returns to. If nil, the pages say "the app".
    ///   - inTerminal: Whether the app runs in a terminal. The pages then say "the terminal".
    public init(appName: String? = nil, inTerminal: Bool = false) {
        signedIn = .signedIn(appName: appName, inTerminal: inTerminal)
        failed = .failed(appName: appName, inTerminal: inTerminal)
        signedOut = .signedOut(appName: appName, inTerminal: inTerminal)
        foreignRedirect = .foreignRedirect
        usedRedirect = .usedRedirect(appName: appName, inTerminal: inTerminal)
        usedLink = .usedLink(appName: appName, inTerminal: inTerminal)
    }

    /// Returns the page for a failed sign-in.
    func failed(reason: String?) -> CompletionPage {
        var page = failed
        page.reason = reason ?? page.reason
        return page
    }
}

extension CompletionPages {
    /// The colours of the pages. To customise them, copy ``light`` or ``dark`` and change it. Text must contrast with
    /// the card and the background.
    public struct Palette: Sendable, Hashable {
        /// The background behind the card.
        public var background: Color
        /// The card that contains the text.
        public var card: Color
        /// The border of the card.
        public var border: Color
        /// The heading.
        public var text: Color
        /// The message.
        public var secondaryText: Color
        /// The success icon.
        public var success: Color
        /// The failure icon.
        public var failure: Color

        /// The default colours for a light desktop.
        public static let light = Palette(
            background: 0xF4F5F7, card: 0xFFFFFF, border: 0xE3E5E9, text: 0x1B1F24, secondaryText: 0x57606A,
            success: 0x1A7F45, failure: 0xB54708)
        /// The default colours for a dark desktop.
        public static let dark = Palette(
            background: 0x14161A, card: 0x1E2126, border: 0x31353C, text: 0xF0F2F5, secondaryText: 0xA4ADB8,
            success: 0x4CC27E, failure: 0xF0A35E)
    }

    /// An opaque colour, written as `0xRRGGBB`.
    public struct Color: Sendable, Hashable, ExpressibleByIntegerLiteral {
        /// Red, green and blue, eight bits each.
        public let rgb: UInt32

        /// Creates a colour from the lower 24 bits of a value.
        public init(rgb: UInt32) { self.rgb = rgb & 0xFF_FFFF }
        /// Creates a colour from the lower 24 bits of a literal.
        public init(integerLiteral value: UInt32) { self.init(rgb: value) }

        /// The colour in CSS notation.
        var css: String {
            let digits = String(rgb, radix: 16)
            return "#" + String(repeating: "0", count: 6 - digits.count) + digits
        }
    }
}
