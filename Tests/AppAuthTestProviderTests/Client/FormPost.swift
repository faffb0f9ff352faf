import AppAuthTestProvider
import Testing

extension Flow {
    /// The fields of the page's form, which has to lead to the redirect URI.
    static func form(of page: Wire.Response?) throws -> [String: String] {
        let page = try #require(page)
        #expect(page.status == 200)
        #expect(page.header("Location") == nil)
        #expect(page.header("Cache-Control") == "no-store")
        let form = try #require(page.text.firstMatch(of: /<form method="post" action="([^"]+)">(?s:(.*))<\/form>/))
        #expect(form.1 == redirectURI)
        let fields = form.2.matches(of: /name="([^"]+)" value="([^"]*)"/)
        return .init(fields.map { (String($0.1), TestBrowser.unescaped(String($0.2))) }) { first, _ in first }
    }
}
