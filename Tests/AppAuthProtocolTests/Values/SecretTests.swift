import AppAuthProtocol
import Foundation
import Testing

struct SecretTests {
    private let secret = Secret("correct horse battery staple")

    private struct Holder {
        let name = "holder"
        let secret: Secret
        let optional: Secret?
        let list: [Secret]
        let table: [String: Secret]
    }

    @Test func `no way of printing shows it`() {
        var dumped = ""
        dump(secret, to: &dumped)
        let texts = [
            "\(secret)", String(describing: secret), String(reflecting: secret), secret.description,
            secret.debugDescription, dumped, "\(Mirror(reflecting: secret).children.map { "\($0)" })",
        ]
        for text in texts { #expect(!text.contains("horse"), "\(text)") }
        #expect("\(secret)" == "[redacted]")
    }

    @Test func `a value that contains a secret does not show it either`() {
        let holder = Holder(secret: secret, optional: secret, list: [secret], table: ["a": secret])
        var dumped = ""
        dump(holder, to: &dumped)
        for text in ["\(holder)", String(reflecting: holder), dumped] {
            #expect(!text.contains("horse"))
            #expect(text.contains("holder"))
        }
    }

    @Test func `it is revealed and encoded where that is asked for`() throws {
        #expect(secret.reveal() == "correct horse battery staple")
        let encoded = try JSONEncoder().encode(["s": secret])
        #expect(String(decoding: encoded, as: UTF8.self) == #"{"s":"correct horse battery staple"}"#)
        #expect(try JSONDecoder().decode([String: Secret].self, from: encoded)["s"] == secret)
    }

    @Test(arguments: [
        "", "a", "correct horse battery stapl", "correct horse battery staplf", "Correct horse battery staple",
    ])
    func `another text is another secret`(other: String) {
        #expect(Secret(other) != secret)
        #expect(Secret(other) == Secret(other))
        #expect(Set([Secret(other), secret, secret]).count == 2)
    }

    @Test func `texts that only look the same are different secrets`() {
        #expect(Secret("\u{E9}") != Secret("e\u{301}"))
    }
}
