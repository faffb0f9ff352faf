import JOSE
import AppAuthTestProvider
import Testing

/// A browser without a screen: keeps cookies, follows redirects within the provider, submits forms.
final class TestBrowser {
    /// By host: as for every browser, a cookie belongs to all ports.
    private var cookies: [String: [String: String]] = [:]
    private let authorities: [String]
    private(set) var page: Wire.Response?
    private(set) var pageURL = ""

    /// - Parameter origins: The further origins of the provider.
    init(at origins: [String] = []) { authorities = origins.map(Self.authority) }

    /// Opens a URL and follows redirects as long as they stay at the provider.
    ///
    /// - Returns: Where the last redirect leads, if it leads away; nil if there is a page.
    func open(_ url: String) async throws -> String? {
        try await follow(Wire.send("GET", url, fields(for: url)), from: url)
    }

    /// Submits the page's form with a button and the entered values.
    func submit(_ action: String, _ typed: [(name: String, value: String)] = []) async throws -> String? {
        let html = try #require(page?.text)
        let target = try #require(html.firstMatch(of: /<form method="post" action="([^"]+)">/)?.1)
        let hidden = html.matches(of: /<input type="hidden" name="([^"]+)" value="([^"]*)">/)
            .map { (name: Self.unescaped(String($0.1)), value: Self.unescaped(String($0.2))) }
        return try await submit(to: Self.unescaped(String(target)), hidden + typed + [("action", action)])
    }

    func submit(to url: String, _ form: [(name: String, value: String)]) async throws -> String? {
        try await follow(Wire.post(url, form, fields(for: url)), from: url)
    }

    func signIn(_ name: String = "alice", _ password: String = "looking-glass") async throws -> String? {
        try await submit("sign-in", [("username", name), ("password", password)])
    }

    func hasCookies(for url: String) -> Bool { cookies[Self.host(url)]?.isEmpty == false }

    private static func authority(_ url: String) -> String {
        url.split(separator: "/").dropFirst().first.map(String.init) ?? ""
    }

    private static func host(_ url: String) -> String { String(authority(url).prefix { $0 != ":" }) }

    /// Takes the other browser's cookies over.
    func steal(from other: TestBrowser) { cookies = other.cookies }

    private func fields(for url: String) -> [(String, String)] {
        let cookies = cookies[Self.host(url)] ?? [:]
        return cookies.isEmpty ? [] : [("Cookie", cookies.map { "\($0)=\($1)" }.joined(separator: "; "))]
    }

    private func follow(_ first: Wire.Response, from url: String) async throws -> String? {
        var (response, url) = (first, url)
        for _ in 0..<10 {
            for cookie in response.headers("Set-Cookie") {
                let pair = cookie.prefix { $0 != ";" }
                let name = String(pair.prefix { $0 != "=" })
                cookies[Self.host(url), default: [:]][name] =
                    cookie.contains("Max-Age=0") ? nil : String(pair.dropFirst(name.count + 1))
            }
            guard let location = response.header("Location") else {
                (page, pageURL) = (response, url)
                return nil
            }
            let authority = Self.authority(location)
            guard authority == Self.authority(url) || authorities.contains(authority) else { return location }
            url = location
            response = try await Wire.send("GET", url, fields(for: url))
        }
        Issue.record("too many redirects")
        return nil
    }

    static func unescaped(_ text: String) -> String {
        text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
    }
}
