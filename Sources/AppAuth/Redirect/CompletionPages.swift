/// Everything that the listener may show to a person, and its colours: for an app that wants other words, its own look, or
/// its own pages.
///
/// ```swift
/// var pages = CompletionPages(appName: "Harbour")
/// pages.light.success = 0x00488A
/// pages.signedIn.texts[0].message = "Harbour is loading your ships."
/// pages.failed.replacement = .url("https://harbour.example/help/sign-in")
/// signIn.pages = pages
/// ```
public struct CompletionPages: Sendable, Hashable {
    /// The person is signed in.
    public var signedIn: CompletionPage
    /// The person is not signed in; its reason is put in when there is one.
    public var failed: CompletionPage
    /// The person is signed out.
    public var signedOut: CompletionPage
    /// A redirect that is not the awaited one, while that is still awaited: another tab, or an earlier attempt.
    public var foreignRedirect: CompletionPage
    /// A redirect after the awaited one, that one once more included.
    public var usedRedirect: CompletionPage
    /// A one-time URL that was opened before.
    public var usedLink: CompletionPage
    /// The colours where the desktop is light.
    public var light = Palette.light
    /// The colours where it is dark.
    public var dark = Palette.dark

    /// The library's own pages, in English and German.
    ///
    /// - Parameter appName: Where the person goes back to; without a name they speak of the app.
    public init(appName: String? = nil) {
        signedIn = .signedIn(appName: appName)
        failed = .failed(appName: appName)
        signedOut = .signedOut(appName: appName)
        foreignRedirect = .foreignRedirect
        usedRedirect = .usedRedirect(appName: appName)
        usedLink = .usedLink(appName: appName)
    }

    /// The page of a sign-in that failed.
    func failed(reason: String?) -> CompletionPage {
        var page = failed
        page.reason = reason ?? page.reason
        return page
    }
}

extension CompletionPages {
    /// The colours of the pages. Take one of the two and change it; the text has to stand out from card and background.
    public struct Palette: Sendable, Hashable {
        /// Behind the card.
        public var background: Color
        /// The card that the text stands on.
        public var card: Color
        /// The line around the card.
        public var border: Color
        /// The heading.
        public var text: Color
        /// The message.
        public var secondaryText: Color
        /// The sign of success.
        public var success: Color
        /// The sign of failure.
        public var failure: Color

        /// What is there for light desktops.
        public static let light = Palette(
            background: 0xF4F5F7, card: 0xFFFFFF, border: 0xE3E5E9, text: 0x1B1F24, secondaryText: 0x57606A,
            success: 0x1A7F45, failure: 0xB54708)
        /// What is there for dark desktops.
        public static let dark = Palette(
            background: 0x14161A, card: 0x1E2126, border: 0x31353C, text: 0xF0F2F5, secondaryText: 0xA4ADB8,
            success: 0x4CC27E, failure: 0xF0A35E)
    }

    /// An opaque colour, written as `0xRRGGBB`.
    public struct Color: Sendable, Hashable, ExpressibleByIntegerLiteral {
        /// Red, green and blue, eight bits each.
        public let rgb: UInt32

        /// Takes the lower 24 bits.
        public init(rgb: UInt32) { self.rgb = rgb & 0xFF_FFFF }
        /// Takes the lower 24 bits.
        public init(integerLiteral value: UInt32) { self.init(rgb: value) }

        /// As a style sheet has it.
        var css: String {
            let digits = String(rgb, radix: 16)
            return "#" + String(repeating: "0", count: 6 - digits.count) + digits
        }
    }
}
