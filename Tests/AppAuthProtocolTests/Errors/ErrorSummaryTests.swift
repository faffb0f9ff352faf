import AppAuthProtocol
import Testing

struct ErrorSummaryTests {
    private struct Bare: Error { let secret: String }

    private enum Failure: Error { case offline, rejected(token: String) }

    private struct Described: Error, CustomStringConvertible { let description: String }

    @Test func `an error without a description is shown by its type and case, without values`() {
        #expect(AuthError.summary(of: Bare(secret: "s3cret")) == "Bare")
        #expect(AuthError.summary(of: Failure.offline) == "Failure.offline")
        #expect(AuthError.summary(of: Failure.rejected(token: "s3cret")) == "Failure.rejected")
    }

    @Test(arguments: [
        ("no route to host", "no route to host"), ("one\ntwo\u{1B}[31m", "one two [31m"), ("", "Described"),
        ("https://op.example/cb?code=s3cret failed", "https://op.example/cb failed"),
        ("/home/me/session.json: no space left", "/home/me/session.json: no space left"),
        ("bad token \(String(repeating: "x", count: 40))", "bad token …"),
    ])
    func `a description is shown in one line, without queries and tokens`(text: String, shown: String) {
        #expect(AuthError.summary(of: Described(description: text)) == shown)
    }
}
