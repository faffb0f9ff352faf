import AppAuthProtocol
import Foundation
import Testing

/// No secret of the request that a server repeats is shown, in any form.
struct RedactionTests {
    private static let secret = "s3cr3t/+~ value?ÿ>"

    private func shown(_ text: String, hiding secrets: [String] = [secret]) -> String? {
        let error = OAuthError(
            error: "invalid_grant", errorDescription: text, errorURI: nil, hiding: secrets.map { Secret($0) })
        return error.errorDescription
    }

    private static func percentEncoded(_ text: String, where isEncoded: (UInt8) -> Bool) -> String {
        text.utf8.map { byte in
            isEncoded(byte) || byte >= 0x80 || byte == 0x25
                ? String(format: byte % 2 == 0 ? "%%%02x" : "%%%02X", byte) : String(UnicodeScalar(byte))
        }.joined()
    }

    private static func base64(_ text: String, isURL: Bool = false) -> String {
        let text = Data(text.utf8).base64EncodedString()
        return isURL ? text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "") : text
    }

    @Test(arguments: [
        secret, percentEncoded(secret) { _ in true }, percentEncoded(secret) { $0 % 3 == 0 },
        FormParameters.encode(secret),
        base64(secret), base64(secret, isURL: true), base64("id:" + secret),
        base64("i:" + secret + "more", isURL: true),
        base64("ab" + secret), base64("a" + secret + "b"), percentEncoded(base64(secret)) { $0 < 0x30 },
    ])
    func `a secret is hidden in each form that servers repeat it in`(form: String) {
        #expect(shown("the token '\(form)' is unknown") == "the token '[redacted]' is unknown")
        #expect(shown(form) == "[redacted]")
        #expect(shown("token=\(form)&a=\(form)") == "token=[redacted]&a=[redacted]")
    }

    @Test(arguments: [
        "nothing of it", "s3cr3t/+~ value", "100 % sure", "50%2", "%", "%zz", "s3cr3t%2", "é%C3%A9",
        base64("another secret of the same length"),
    ])
    func `every other text stays as it is`(text: String) {
        #expect(shown(text) == text)
    }

    @Test func `a secret that has escapes itself is hidden as it is and decoded`() {
        for form in ["abc%41defgh", "abcAdefgh", "abc%2541defgh"] {
            #expect(shown("'\(form)'", hiding: ["abc%41defgh"]) == "'[redacted]'")
        }
    }

    @Test func `a short secret stays, since it is found in innocent words`() {
        #expect(shown("the grant is invalid", hiding: ["invalid"]) == "the grant is invalid")
        #expect(shown("the grant is invalid.", hiding: ["invalid."]) == "the grant is [redacted]")
    }

    @Test func `nothing of a secret is left where a long text is cut`() {
        // The last of these is cut in the middle.
        let long = (0..<300).map { "\($0 * 7919)" }.joined()
        let hidden = shown(String(repeating: long, count: 4), hiding: [long])
        #expect(hidden == String(repeating: "[redacted]", count: (4096 + long.utf8.count - 1) / long.utf8.count))
        #expect(shown(String(repeating: "a", count: 299) + Self.secret) == String(repeating: "a", count: 299) + "[")
    }

    @Test func `nothing of a secret is left where a quotation is shortened`() {
        #expect(shown("found '\(Self.secret.prefix(8))', expected x") == "found '[redacted]', expected x")
        #expect(shown("found '\(Self.secret.prefix(7))'") == "found '\(Self.secret.prefix(7))'")
        #expect(shown("found '\(Self.secret.prefix(8))x'") == "found '\(Self.secret.prefix(8))x'")
    }

    @Test func `each of several secrets is hidden`() {
        #expect(
            shown("first-secret second-secret", hiding: ["second-secret", "first-secret"]) == "[redacted] [redacted]")
    }
}
