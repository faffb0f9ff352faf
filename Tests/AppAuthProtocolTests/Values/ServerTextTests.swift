import AppAuthProtocol
import JOSE
import Testing

/// What servers write into messages: it cannot end its quotes, and a URL has nothing that a shell runs.
@Suite struct ServerTextTests {
    @Test(arguments: [
        "http://evil.example/a';touch$IFS/tmp/x;'", "evil.example/a';touch$IFS/tmp/x;'",
        "https://evil.example/a';touch$IFS/tmp/x;'?q",
    ])
    func `advice to use another URL has it encoded`(url: String) throws {
        let error = try #require(throws: AuthError.self) { try Issuer(url) }
        #expect(error.message.contains("https://evil.example/a%27%3Btouch%24IFS/tmp/x%3B%27"), "\(error.message)")
    }

    @Test(arguments: [
        ("https://e.example/d?a&%01", true), ("https://e.example/d?a=b&%4Ac", true),
        ("https://e.example/d?a&%20", true),
        // A job whose command begins with these letters.
        ("https://e.example/d?a&%ca&b", true), ("https://e.example/d?a&%E4%BD=1", true),
        ("https://e.example/d?%01", false), ("https://e.example/d?a&%4a=1", true),
        ("https://e.example/d?a&%61=1", false),
        ("https://e.example/d?a=%01&b=c&d=", false),
    ])
    func `a URL in which a shell would find a job is in quotes`(url: String, isQuoted: Bool) throws {
        let shown = try SecureURL(url).description
        #expect(shown.hasPrefix("'https://") == isQuoted && shown.hasSuffix("'") == isQuoted, "\(shown)")
        #expect(!isQuoted || shown.dropFirst().dropLast().allSatisfy { $0 != "'" })
    }

    @Test func `a URL on this computer that a server may not name is encoded`() throws {
        let objection = try SecureURL("https://127.0.0.1/a';id;'").objection(namedBy: SecureURL("https://evil.example"))
        #expect(objection?.hasPrefix("https://127.0.0.1/a%27%3Bid%3B%27 is on this computer") == true)
    }

    @Test(arguments: [
        "x' twice. Sign in with: id #", "x՝ Sign in", "x´ Sign in", "xˊ Sign in", "x\u{A717} Sign in",
    ])
    func `a name stands in quotes that it cannot end`(name: String) {
        let shown = name.foundText
        #expect(shown.first == "'" && shown.last == "'")
        #expect(!shown.dropFirst().dropLast().contains { "'՝´ˊ\u{A717}\n".contains($0) }, "\(shown)")
        #expect(name.shownName == shown)
    }

    @Test(arguments: [
        ("Zoë", true), ("rm -r Documents", false), ("Zoë Müller", false), ("サーバー1", false), ("नमस्ते", false),
        ("O’Neill", true), ("aliceꓸ Runꓽ evil", false),
        ("a.\u{5B0} Run evil", false), ("a. Run evil", false), ("a Run", false), ("ops@op.example", true),
    ])
    func `a name is shown without quotes only if it is plain`(name: String, isPlain: Bool) {
        #expect((name.shownName == name) == isPlain)
    }
}
