import AppAuthProtocol
import TestFixtures
import Testing

/// Where credentials may be sent: RFC 3986 in its strict form, https (RFC 6749 §3.1, §3.2), http on loopback only
/// (RFC 8252 §7.3, §8.3).
struct SecureURLTests {
    @Test(arguments: [
        "https://example.org", "https://example.org/", "https://EXAMPLE.org:8443/a/b?c=d", "HTTPS://example.org",
        "https://example.org?x", "https://xn--bcher-kva.example", "https://192.0.2.1", "https://[2001:db8::1]:443/x",
        "https://[::ffff:192.0.2.1]", "https://example.org:65535", "https://example.org/a%20b",
        "https://example.org/@:",
        "http://127.0.0.1", "http://127.0.0.1:8080/cb", "http://127.255.255.254", "http://[::1]:9/",
        "http://localhost:1",
        "HTTP://LOCALHOST",
    ])
    func `an https URL, and an http URL on loopback, is accepted as it was written`(text: String) throws {
        #expect(try SecureURL(text).string == text)
    }

    @Test(arguments: [
        ("http://example.org", "loopback"), ("http://127.0.0.1.example.org", "loopback"),
        ("http://localhost.example.org", "loopback"), ("http://localhost.", "loopback"), ("http://0.0.0.0", "loopback"),
        ("http://126.0.0.1", "loopback"), ("http://128.0.0.1", "loopback"), ("http://127.1", "loopback"),
        ("http://127.0.0.256", "loopback"), ("http://127.0.0.01", "loopback"), ("http://127.0.0.1.", "loopback"),
        ("http://0x7f.0.0.1", "loopback"), ("http://2130706433", "loopback"), ("http://[::2]", "loopback"),
        ("http://[::ffff:127.0.0.1]", "loopback"), ("http://[0:0:0:0:0:0:0:1]", "loopback"),
        ("http://10.0.0.1", "loopback"), ("http://169.254.169.254/", "loopback"),
    ])
    func `http is refused for every host that is not exactly loopback`(text: String, why: String) throws {
        let error = try #require(refusal { try SecureURL(text) })
        #expect(error.code == .invalidConfiguration)
        #expect(error.message.contains(why))
        // Only the scheme is wrong: the same with https is valid.
        #expect(refusal { try SecureURL("https" + text.dropFirst(4)) } == nil)
    }

    @Test(arguments: [
        ("example.org/realm", "https://example.org/realm"), ("example.org:8443", "https://example.org:8443"),
        ("https:/example.org", "https://example.org"), ("HTTPS:example.org:8443/a", "https://example.org:8443/a"),
        ("http:/example.org", "https://example.org"), ("//example.org", "https://example.org"),
        ("http:/localhost:8080", "http://localhost:8080"),
        ("127.0.0.1:8080/a", "http://127.0.0.1:8080/a"), ("mailto:jane@example.org", nil), ("", nil),
        ("two words", nil), ("https:/", nil), ("ftp:/example.org", nil),
    ])
    func `a URL without a whole scheme is rejected, and one with it is suggested for a host`(
        text: String, suggestion: String?
    ) throws {
        let message = try #require(refusal { try SecureURL(text) }).message
        guard let suggestion else { return #expect(!message.contains("Use '")) }
        #expect(message.hasSuffix(". Use '\(suggestion)'"), "\(message)")
    }

    @Test(arguments: [
        ("https://op.example/a-b_c~d?e=f%20g", "https://op.example/a-b_c~d?e=f%20g"),
        ("https://op.example/'$(id)'", "https://op.example/%27%24%28id%29%27"),
        ("https://op.example/a;id;!*", "https://op.example/a%3Bid%3B%21%2A"),
        ("https://op.example/d?c=A&PATH=/tmp", "https://op.example/d?c=A&%50ATH=/tmp"),
        ("https://op.example/d?c=A&PATH=/tmp&&x=1", "https://op.example/d?c=A&PATH=/tmp&%78=1"),
        ("https://op.example/d?&c=A&PATH=/tmp&&", "https://op.example/d?c=A&%50ATH=/tmp"),
        ("https://op.example/d&id&x", "https://op.example/d%26id%26x"),
        (
            "https://op.example/?v&id&/bin/id&a_1=b&c.d=e&%69d",
            "'https://op.example/?v&%69d&%2Fbin/id&a_1=b&%63.d=e&%69d'"
        ),
    ])
    func `a URL for people has nothing that a shell runs, and the URL itself stays`(text: String, shown: String) throws
    {
        let url = try SecureURL(text)
        #expect(url.description == shown && url.string == text)
        guard url.query == nil else { return }
        #expect(try Issuer(text).description == shown && Issuer(text).string == text)
    }

    @Test func `a fragment is named, and not shown`() throws {
        let message = try #require(refusal { try SecureURL("https://example.org/a#secret") }).message
        #expect(message.contains("'https://example.org/a': it has a fragment, from '#' on: leave it out"), "\(message)")
        #expect(!message.contains("secret"))
    }

    @Test(arguments: [
        ("https://h/a b", "percent-encoded, as %20"), ("https://h/ü", "percent-encoded, as %C3%BC"),
        ("https://h/\u{202E}", "percent-encoded, as %E2%80%AE"), ("https://h/\u{7F}", "percent-encoded, as %7F"),
        ("https://h/?secret=%2", "it has a '%' without two hexadecimal digits"),
    ])
    func `a character that must be percent-encoded is named`(text: String, why: String) throws {
        let message = try #require(refusal { try SecureURL(text) }).message
        #expect(message.hasSuffix(why), "\(message)")
        #expect(!message.contains("secret"))
    }

    @Test(arguments: [
        ("https://user@example.org", "https://example.org"), ("https://u:p@example.org", "https://example.org"),
        ("https://example.org@evil.example", "https://example.org"), ("https://example.org/#f", "https://example.org/"),
        ("https://example.org#", "https://example.org"), ("https:///path", "https://h/path"), ("https://", "https://h"),
        ("https://:443", "https://h:443"), ("https://h:0", "https://h:1"), ("https://h:65536", "https://h:65535"),
        ("https://h:-1", "https://h:1"), ("https://h:+1", "https://h:1"), ("https://h:1:2", "https://h:1"),
        ("https://h:1a", "https://h:1"), ("https://::1", "https://[::1]"), ("https://[::1", "https://[::1]"),
        ("https://[]", "https://[::]"), ("https://[h]", "https://[::]"), ("https://[::1%25eth0]", "https://[::1]"),
        ("https://[::1]x", "https://[::1]"), ("https://[::1]]", "https://[::1]"), ("https://h[", "https://h"),
        ("https://exa%6Dple.org", "https://example.org"), ("https://h%2F.example", "https://h.example"),
        ("https://h!", "https://h"), ("https://h,i", "https://h"), ("ftp://h", "https://h"), ("h", "https://h"),
        ("//h/", "https://h/"), ("https:h", "https://h"), ("https:/h", "https://h"), ("https//h", "https://h"),
        ("", "https://h"), ("javascript://h", "https://h"), (" https://h", "https://h"), ("https://h ", "https://h"),
        ("https://h/%", "https://h/%25"), ("https://h/%2", "https://h/%25"), ("https://h/%zz", "https://h/%25"),
        ("https://bücher.example", "https://xn--bcher-kva.example"), ("https://h/ü", "https://h/%C3%BC"),
        ("https://h/\u{301}", "https://h/"), ("https://h\\@i", "https://h"), ("file:///https://h", "https://h"),
        ("https://" + String(repeating: "h", count: 254), "https://" + String(repeating: "h", count: 253)),
    ])
    func `a URL that is wrong in one respect is refused`(text: String, right: String) throws {
        #expect(refusal { try SecureURL(text) }?.code == .invalidConfiguration)
        #expect(refusal { try SecureURL(right) } == nil)
    }

    @Test func `a character outside the grammar of RFC 3986 is refused at any position`() {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?"
        let allowedInHost = Set(letters.unicodeScalars)
        let allowedInPath = allowedInHost.union(":[]@!$&'()*+,;=".unicodeScalars)
        let scalars = (0...0x2FF).compactMap(Unicode.Scalar.init) + ["\u{2028}", "\u{202E}", "\u{212A}", "\u{FF0F}"]
        for scalar in scalars {
            let name = "U+\(String(scalar.value, radix: 16))"
            let inPath = refusal { try SecureURL("https://h/a\(scalar)b") }
            #expect((inPath == nil) == allowedInPath.contains(scalar), "\(name) in a path")
            let inHost = refusal { try SecureURL("https://h\(scalar)b") }
            #expect((inHost == nil) == allowedInHost.contains(scalar), "\(name) in a host")
        }
    }

    @Test func `the parts are those of the URL`() throws {
        let url = try SecureURL("HTTPS://Example.ORG:8443/a/b?c=d?e")
        #expect(url.scheme == "https")
        #expect(url.authority == "Example.ORG:8443")
        #expect(url.host == "example.org")
        #expect(url.port == 8443)
        #expect(url.pathAndQuery == "/a/b?c=d?e")
        #expect(url.path == "/a/b")
        #expect(url.query == "c=d?e")
        #expect(url.origin == "https://example.org:8443")
        #expect(try SecureURL("https://[2001:DB8::1]:7").host == "[2001:db8::1]")
        #expect(try SecureURL("https://[2001:DB8::1]:7").port == 7)
        #expect(try SecureURL("https://h?q").pathAndQuery == "/?q")
        #expect(try SecureURL("https://h").query == nil)
        #expect(try SecureURL("https://h?").query == "")
    }

    @Test func `the default port belongs to the origin (RFC 6454 §4)`() throws {
        #expect(try SecureURL("https://H/a").origin == SecureURL("https://h:443/b").origin)
        #expect(try SecureURL("http://localhost/a").origin == SecureURL("http://localhost:80").origin)
        #expect(try SecureURL("https://h").origin != SecureURL("https://h:444").origin)
        #expect(try SecureURL("https://h:00443").origin == SecureURL("https://h").origin)
        #expect(try SecureURL("https://h:").origin == SecureURL("https://h").origin)
        #expect(try SecureURL("https://h:08443").origin == "https://h:8443")
    }

    @Test(arguments: [
        ("https://h/a", "https://h/a?x=1"), ("https://h/a?", "https://h/a?x=1"),
        ("https://h/a?b=%20", "https://h/a?b=%20&x=1"),
        ("https://h/a?b=1&", "https://h/a?b=1&x=1"), ("https://h", "https://h?x=1"),
    ])
    func `parameters go behind the query that is there (RFC 6749 §3.1)`(text: String, expected: String) throws {
        var parameters = FormParameters()
        parameters.append("x", "1")
        #expect(try SecureURL(text).appending(parameters) == expected)
    }

    @Test func `a URL may have 8192 bytes and no more`() throws {
        let longest = "https://h/" + String(repeating: "a", count: 8182)
        #expect(try SecureURL(longest).string.utf8.count == 8192)
        let error = try #require(refusal { try SecureURL(longest + "a") })
        #expect(error.message.utf8.count < 500)
    }

    @Test(arguments: [
        "https://jane:hunter2hunter2@h", "http://h/?token=hunter2hunter2", "https://h/#hunter2hunter2",
        "https://jane:hunter2hunter2@\u{301}h", "https://h/?\u{301}token=hunter2hunter2",
    ])
    func `the error shows neither a password nor a query`(text: String) throws {
        let error = try #require(refusal { try SecureURL(text) })
        #expect(!error.message.contains("hunter2"))
    }
}
