import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct UserInfoTests {
    @Test func `the claims are printed, as an object or line by line`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid email")
            let json = try await fixture.run("userinfo", "--json").result()
            #expect(json["sub"]?.string == "248289761001")
            #expect(json["email"]?.string == "alice@example.com")
            #expect(json["email_verified"] == true)
            let text = try await fixture.run("userinfo")
            #expect(text.outputLines.contains("email: alice@example.com"))
            #expect(text.outputLines.contains("email_verified: true"))
            #expect(fixture.provider.count(.userInfo) == 2)
        }
    }

    @Test func `another user's claims are rejected`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.editDocument { $0["sub"] = "another" }, at: .userInfo)
            try await fixture.run("userinfo", "--json").failure(1, "invalid_response")
        }
    }

    @Test func `a token that the provider no longer accepts is refreshed once`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.invalidToken, at: .userInfo)
            _ = try await fixture.run("userinfo", "--json").result()
            #expect(fixture.provider.count(.userInfo) == 2 && fixture.provider.count(.token) == 2)
        }
    }
}

extension Fault {
    /// RFC 6750 §3.1.
    static let invalidToken = Fault.status(.unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#])
}
