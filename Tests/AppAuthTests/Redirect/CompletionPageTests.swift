import AppAuth
import Testing

/// The page that the browser shows at the end.
struct CompletionPageTests {
    private func html(_ page: CompletionPage, language: String? = nil) -> String {
        let fields = language.map { [RequestHead.Field(name: "accept-language", value: $0)] } ?? []
        return page.html(for: RequestHead(method: "GET", authority: "", path: "/", query: "", fields: fields))
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
            for word in ["automatically", "will close", "window.close", "<script", "http-equiv", "src=", "href="] {
                #expect(!html(page).contains(word))
            }
        }
    }

    @Test func `whatever a text holds is escaped`() {
        let hostile = "<img src=x onerror=alert(1)>&\"'</title></style></p>"
        let page = CompletionPage(
            texts: [.init(language: hostile, title: hostile, heading: hostile, message: hostile)], reason: hostile,
            isSuccess: false)
        let escaped = "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#39;&lt;/title&gt;&lt;/style&gt;&lt;/p&gt;"
        #expect(html(page).components(of: escaped) == 5)
        #expect(!html(page).contains("<img"))
    }

    @Test func `a reason is one short line without characters that reorder text`() {
        let page = CompletionPage.failed(appName: "A", reason: "a\u{202E}b\r\n" + String(repeating: "x", count: 1000))
        #expect(html(page).contains(">a b  xxx"))
        #expect(!html(page).contains(String(repeating: "x", count: 300)))
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

extension String {
    fileprivate func components(of part: String) -> Int { ranges(of: part).count }
}
