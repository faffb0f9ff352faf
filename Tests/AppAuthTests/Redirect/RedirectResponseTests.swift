import AppAuth
import JOSE
import Testing

/// The bytes of a response.
struct RedirectResponseTests {
    private let common: [String: String] = [
        "connection": "close", "cache-control": "no-store", "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    ]

    @Test func `every response stays out of caches, referrers and frames`() throws {
        let page = RedirectResponse(status: 200, body: "<p>ü</p>", policy: "style-src 'none'")
        for response in [page, RedirectResponse(status: 404, body: "Not Found\n"), RedirectResponse(status: 405)] {
            let sent = try WireResponse(response.bytes)
            #expect(sent.status == response.status)
            #expect(sent.body == response.body)
            for (name, value) in common { #expect(sent[name] == value) }
            let policy = try #require(sent["content-security-policy"])
            for part in ["default-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"] {
                #expect(policy.contains(part))
            }
            #expect(!policy.contains("unsafe") && !policy.contains("script-src"))
        }
        #expect(try WireResponse(page.bytes)["content-type"] == "text/html; charset=utf-8")
        #expect(try WireResponse(RedirectResponse(status: 405).bytes)["content-type"] == nil)
    }

    @Test func `the policy allows the page's own style and no other`() async throws {
        let listener = try LoopbackRedirectListener()
        async let response = listener.get("/callback?state=wrong")
        let waiting = Task { try await listener.redirect(state: "right") }
        let page = try await response
        waiting.cancel()
        let style = try #require(page.body.firstMatch(of: /<style>(?s:(.*))<\/style>/)?.1).description
        let hash = Base64URL.encode(Digest.sha256.hash(style)).replacing("-", with: "+").replacing("_", with: "/") + "="
        #expect(page["content-security-policy"]?.contains("style-src 'sha256-\(hash)'") == true)
        #expect(!page.body.contains("style=") && !page.body.contains("<script"))
    }

    @Test(arguments: [
        (200, "OK"), (303, "See Other"), (400, "Bad Request"), (404, "Not Found"), (405, "Method Not Allowed"),
        (408, "Request Timeout"), (410, "Gone"), (411, "Length Required"), (413, "Content Too Large"),
        (414, "URI Too Long"), (415, "Unsupported Media Type"), (421, "Misdirected Request"),
        (431, "Request Header Fields Too Large"), (503, "Service Unavailable"), (505, "HTTP Version Not Supported"),
    ])
    func `the status line has the phrase of RFC 9110 or RFC 6585`(status: Int, phrase: String) {
        let line = RedirectResponse(status: status).bytes.prefix { $0 != UInt8(ascii: "\r") }
        #expect(String(decoding: line, as: UTF8.self) == "HTTP/1.1 \(status) \(phrase)")
    }
}
