import AppAuthTestProvider
import Foundation
import Testing

/// `sign-in token --format`: the token as other programs expect it.
@Suite(.timeLimit(.minutes(5)))
struct TokenFormatTests {
    @Test func `each format contains the stored token, and no request is sent`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid email")
            let token = try await fixture.run("token").output.dropLast()
            let requests = fixture.provider.log.count
            let mail = try await fixture.run("token", "--id-token").output.split(separator: ".")
            #expect(mail.count == 3)
            func printed(_ arguments: String...) async throws -> String {
                let outcome = try await fixture.start(["token", "--format"] + arguments).outcome()
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
                return outcome.outputLines.first ?? ""
            }
            func decoded(_ text: String) -> String {
                String(decoding: Data(base64Encoded: text) ?? Data(), as: UTF8.self)
            }
            #expect(try await printed("token") == token)
            #expect(try await printed("header") == "Authorization: Bearer \(token)")
            #expect(try await printed("env") == "export ACCESS_TOKEN=\(token)")
            #expect(try await printed("env", "--id-token").hasPrefix("export ID_TOKEN=eyJ"))
            let xoauth2 = decoded(try await printed("xoauth2", "--user", "zoe@example.org"))
            #expect(xoauth2 == "user=zoe@example.org\u{1}auth=Bearer \(token)\u{1}\u{1}")
            let bearer = decoded(try await printed("oauthbearer", "--user", "a=b,c@example.org"))
            #expect(bearer == "n,a=a=3Db=2Cc@example.org,\u{1}auth=Bearer \(token)\u{1}\u{1}")
            #expect(decoded(try await printed("xoauth2")).hasPrefix("user=alice@"))
            #expect(fixture.provider.log.count == requests)
        }
    }

    @Test func `a format for mail needs a user, and a bound token has no other format`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid")
            let unnamed = try await fixture.run("token", "--format", "xoauth2")
            #expect(unnamed.status == 1 && unnamed.output.isEmpty && unnamed.errors.contains("--user"), "\(unnamed)")
            _ = try await fixture.login("--dpop").result()
            let bound = try await fixture.run("token", "--format", "header")
            #expect(bound.status == 1 && bound.output.isEmpty && bound.errors.contains("sign-in request"), "\(bound)")
        }
    }

    @Test(arguments: [
        ["--format", "xml"], ["--format", "header"], ["--user", "zoe"], ["--format", "xoauth2", "--user", ""],
        ["--format", "xoauth2", "--user", "a\u{1}auth=Bearer x"],
    ])
    func `a format that cannot be is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["token", "--json"] + arguments).outcome().wrongUsage()
        }
    }
}
