import AppAuth
import Glibc
import JOSE
import Testing

/// The page that the browser shows at the end.
struct CompletionPageTests {
    private func html(_ page: CompletionPage, language: String? = nil) -> String {
        let fields = language.map { [RequestHead.Field(name: "accept-language", value: $0)] } ?? []
        return response(page, fields).body
    }

    private func response(_ page: CompletionPage, _ fields: [RequestHead.Field] = []) -> RedirectResponse {
        PageTemplate()
            .response(200, page, for: RequestHead(method: "GET", authority: "", path: "/", query: "", fields: fields))
    }

    @Test(arguments: [
        (nil, "en"), ("de", "de"), ("de-AT,de;q=0.9,en;q=0.8", "de"), ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("fr-FR,fr;q=0.9,de;q=0.5,en;q=0.3", "de"), ("fr", "en"), ("*", "en"), ("de;q=0", "en"), ("de;q=2", "en"),
        ("DE", "de"), ("", "en"), (";;,,q=", "en"), ("den", "en"), ("fr;q=0.9, de;q=0.5", "de"),
        ("de;q=0.5,en;q=0.6", "en"),
    ])
    func `the browser's language is chosen, else the first`(_ wanted: String?, _ language: String) {
        let page = html(.signedIn(appName: "Harbour"), language: wanted)
        #expect(page.contains("<html lang=\"\(language)\">"))
        #expect(page.contains(language == "de" ? "Sie sind angemeldet" : "You are signed in"))
    }

    @Test func `each outcome says what happened and never that the tab closes by itself`() {
        let pages = [
            (CompletionPage.signedIn(appName: "Harbour"), "You are signed in", "Sie sind angemeldet"),
            (.failed(appName: "Harbour", reason: "The clock is wrong."), "did not succeed", "fehlgeschlagen"),
            (.signedOut(appName: "Harbour"), "You are signed out", "Sie sind abgemeldet"),
        ]
        for (page, english, german) in pages {
            #expect(html(page).contains(english))
            #expect(html(page, language: "de").contains(german))
            #expect(html(page).contains("Harbour"))
            #expect(html(page).contains("The clock is wrong.") == !page.isSuccess)
            for word in ["automatically", "will close", "window.close", "<script", "http-equiv", "src=", "href=\"h"] {
                #expect(!html(page).contains(word))
            }
        }
    }

    @Test func `the page contains its icon, so that no browser asks for one`() throws {
        for (page, mark, color) in [
            (CompletionPage.signedIn(), "M7 12.5", "%231a7f45"), (.failed(), "M12 7v6", "%23b54708"),
            (CompletionPages().foreignRedirect, "M12 7v6", "%23b54708"),
        ] {
            let shown = response(page)
            let icon = try #require(shown.body.firstMatch(of: /<link rel="icon" href="([^"]*)">/)?.1)
            #expect(icon.hasPrefix("data:image/svg+xml,%3Csvg ") && icon.hasSuffix("%3C/svg%3E"))
            #expect(icon.contains(mark) && icon.contains(color))
            // A "#" would begin the fragment, RFC 3986 §3.5.
            #expect(!icon.contains("#"))
            #expect(shown.body.components(of: "href=") == 1)
            #expect(shown.policy?.hasSuffix("; img-src data:") == true)
        }
    }

    @Test func `every text is escaped`() {
        let hostile = "<img src=x onerror=alert(1)>&\"'</title></style></p>"
        let page = CompletionPage(
            texts: [.init(language: hostile, title: hostile, heading: hostile, message: hostile)], reason: hostile,
            isSuccess: false)
        let escaped = "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;&lt;/title&gt;&lt;/style&gt;&lt;/p&gt;"
        #expect(html(page).components(of: escaped) == 5)
        #expect(!html(page).contains("<img"))
        // With the mark, it is another character of Swift's, and the same tag for a browser.
        #expect("<\u{338}b>".escapedForHTML == "&lt;\u{338}b&gt;")
    }

    /// A command line that is cut would be another one.
    @Test func `a reason is one whole line without characters that reorder text`() {
        let long = String(repeating: "x", count: 1000)
        let page = CompletionPage.failed(appName: "A", reason: "a\u{202E}b\r\n" + long)
        #expect(html(page).contains(">a b  \(long)<"))
    }

    @Test func `texts can be added and replaced`() {
        var page = CompletionPage.signedIn(appName: "Harbour")
        page.texts.append(.init(language: "fr", title: "t", heading: "Connecté", message: "m"))
        page.texts[0].heading = "Ahoy"
        #expect(html(page, language: "fr-CA").contains("Connecté"))
        #expect(html(page).contains("<h1>Ahoy</h1>"))
        page.texts = []
        #expect(html(page).isEmpty)
    }
}

/// The app's own words, colours and pages.
@Suite(.timeLimit(.minutes(5)))
struct OwnPagesTests {
    private func responses(_ pages: CompletionPages, _ page: CompletionPage) async throws -> [WireResponse] {
        let listener = try LoopbackRedirectListener.patient(pages: pages)
        let link = try #require(listener.path(of: listener.oneTimeURL(redirectingTo: "https://a.example/")))
        async let query = listener.redirect(state: "s")
        let foreign = try await listener.get("/callback?state=x")
        let sentOn = try await listener.get("/callback?state=s")
        _ = try await query
        let usedLink = try await listener.get(link)
        let used = try await listener.get("/callback?state=s")
        async let last = listener.get(try #require(listener.path(of: sentOn["location"])))
        await listener.finish(with: page)
        return try await [usedLink, foreign, used, last]
    }

    @Test func `every page shows the app's words`() async throws {
        var pages = CompletionPages(appName: "Harbour")
        pages.usedLink.texts[0].heading = "First"
        pages.foreignRedirect.texts[0].heading = "Second"
        pages.usedRedirect.texts[0].heading = "Third"
        pages.signedIn.texts[0].heading = "Fourth"
        let shown = try await responses(pages, pages.signedIn)
        #expect(shown.map(\.status) == [410, 400, 400, 200])
        for (response, word) in zip(shown, ["First", "Second", "Third", "Fourth"]) {
            #expect(response.body.contains("<h1>\(word)</h1>"))
        }
    }

    @Test func `every page has the app's colours, and a policy that allows them`() async throws {
        var pages = CompletionPages(appName: "Harbour")
        (pages.light.success, pages.dark.success) = (0x00_488A, 0x01)
        let standard = CompletionPages(appName: "Harbour")
        for response in try await responses(pages, pages.signedIn) {
            let style = try #require(response.body.firstMatch(of: /<style>(?s:(.*))<\/style>/)?.1).description
            #expect(style.contains("--good:#00488a") && style.contains("--good:#000001"))
            let hash = Base64URL.encode(Digest.sha256.hash(style)).replacing("-", with: "+").replacing("_", with: "/")
            #expect(response["content-security-policy"]?.contains("style-src 'sha256-\(hash)='") == true)
        }
        for response in try await responses(standard, standard.signedIn) {
            #expect(response.body.contains("--good:#1a7f45") && response.body.contains("--good:#4cc27e"))
        }
    }

    @Test func `the app's own document is sent unchanged, with styles and images but no script`() async throws {
        let html = "<!DOCTYPE html><title>Ü</title><style>p{color:red}</style><p>&amp;"
        var pages = CompletionPages()
        pages.failed.replacement = .html(html)
        let page = try #require(try await responses(pages, pages.failed).last)
        #expect(page.status == 200)
        #expect(page.body == html)
        #expect(page["content-type"] == "text/html; charset=utf-8")
        let policy = try #require(page["content-security-policy"])
        #expect(policy.hasSuffix("; style-src 'unsafe-inline'; img-src data:"))
        #expect(policy.hasPrefix("default-src 'none'; ") && !policy.contains("script-src"))
    }

    @Test func `the app's own address is where the browser is sent on to`() async throws {
        var pages = CompletionPages()
        pages.signedIn.replacement = .url("https://harbour.example/welcome?from=sign-in")
        let page = try #require(try await responses(pages, pages.signedIn).last)
        #expect(page.status == 303)
        #expect(page["location"] == "https://harbour.example/welcome?from=sign-in")
        #expect(page["referrer-policy"] == "no-referrer")
    }

    @Test func `without a name the pages speak of the app`() {
        let pages = CompletionPages()
        #expect(pages.signedIn.texts.map(\.title) == ["Signed in", "Angemeldet"])
        #expect(pages.signedIn.texts[0].message.contains("go back to the app."))
        #expect(pages.signedIn.texts[1].message.contains("und zur App zurückkehren."))
        #expect(CompletionPages(appName: "Harbour").usedRedirect.texts[1].message.hasSuffix("zu Harbour zurück."))
    }

    @Test func `the pages of a program in a terminal send the user back to the terminal`() {
        let pages = CompletionPages(appName: "Harbour", inTerminal: true)
        for page in [pages.signedIn, pages.failed, pages.signedOut, pages.usedRedirect, pages.usedLink] {
            #expect(page.texts[0].message.contains("to the terminal"))
            #expect(page.texts[1].message.contains("zum Terminal"))
            #expect(page.texts.allSatisfy { !$0.message.contains("Harbour") })
        }
        #expect(pages.signedIn.texts.map(\.title) == ["Signed in – Harbour", "Angemeldet – Harbour"])
    }

    /// WCAG 2.2, 1.4.3 for text and 1.4.11 for the marks, level AA.
    @Test(arguments: [CompletionPages.Palette.light, .dark])
    func `text and marks stand out from what is behind them`(_ palette: CompletionPages.Palette) {
        #expect(contrast(palette.text, palette.card) >= 4.5)
        #expect(contrast(palette.secondaryText, palette.card) >= 4.5)
        // The reason's box.
        #expect(contrast(palette.text, palette.background) >= 4.5)
        for mark in [palette.success, palette.failure] { #expect(contrast(mark, palette.card) >= 3) }
    }

    @Test func `the marks stand out from the icon of the tab`() {
        let light = CompletionPages.Palette.light
        for mark in [light.success, light.failure] { #expect(contrast(mark, 0xFFFFFF) >= 3) }
        // The computation is right for black on white, and for a grey that is known to be just enough.
        #expect(contrast(0x000000, 0xFFFFFF) == 21)
        #expect((4.5..<4.6).contains(contrast(0x767676, 0xFFFFFF)))
    }

    /// WCAG 2.2, "contrast ratio" and "relative luminance".
    private func contrast(_ one: CompletionPages.Color, _ other: CompletionPages.Color) -> Double {
        let luminances = [one, other].map { color in
            zip([16, 8, 0] as [UInt32], [0.2126, 0.7152, 0.0722]).reduce(0) { sum, channel in
                let value = Double(color.rgb >> channel.0 & 0xFF) / 255
                return sum + channel.1 * (value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4))
            }
        }
        return (luminances.max()! + 0.05) / (luminances.min()! + 0.05)
    }

    @Test func `a colour has 24 bits`() {
        #expect(CompletionPages.Color(rgb: 0xFF12_3456) == 0x12_3456)
        #expect((0x12_3456 as CompletionPages.Color).rgb == 0x12_3456)
    }
}

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
