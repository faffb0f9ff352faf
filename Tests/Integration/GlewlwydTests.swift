import Foundation
import Testing

extension Integration {
    /// Glewlwyd: the issuer has a path, `token_type` comes as "bearer", a public client cannot revoke, a refused refresh has an empty body.
    @Suite(.serialized, .provider("glewlwyd.py")) struct Glewlwyd {
        @Test func `a public client signs in with a browser, refreshes, and signs out`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { person in
                try await person.signsIn(pressing: ["OK", "Grant access", "Continue"])
                try await person.readsUserInfo()
                try await person.refreshesTwice()
                try await person.seesOneSession()
                try await person.signsOut(revoking: [], pressing: ["Logout"])
                try await person.isSignedOut()
                // The provider's own session is over too: it asks for the password again. What was granted, it remembers.
                try await person.signsIn(pressing: ["OK", "Continue"])
            }
        }

        @Test func `a confidential client authenticates with its secret, and revokes its tokens`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { person in
                try await person.signsIn(pressing: ["OK", "Grant access", "Continue"])
                try await person.refreshesTwice()
                try await person.signsOut(revoking: ["refresh_token", "access_token"], pressing: ["Logout"])
                try await person.isSignedOut()
            }
        }

        @Test func `a wrong client secret is refused, and nothing is stored`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { person in
                let login = try await person.login(secret: "not the secret")
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.code == "unauthorized_client")
                #expect(!FileManager.default.fileExists(atPath: person.store))
            }
        }

        @Test func `a refusal without invalid_grant does not end the session`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { person in
                try await person.signsIn(pressing: ["OK", "Grant access", "Continue"])
                let refused = try await person.replaysAnOldRefreshToken()
                #expect(refused.code != "sign_in_required")
                #expect(try await person.sessions().first?.state == "signed_in")
            }
        }

        @Test func `its metadata is discovered`() async throws { try await Provider.here().isDiscovered() }
    }
}
