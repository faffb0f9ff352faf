import Foundation
import Testing

extension Integration {
    /// django-oauth-toolkit: the revocation endpoint is only in the RFC 8414 document, endpoints end in "/", a public client revokes.
    @Suite(.serialized, .provider("django_oauth_toolkit.py")) struct DjangoOAuthToolkit {
        @Test func `a public client signs in with a browser, refreshes, and signs out`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { user in
                try await user.signsIn(pressing: ["Sign in", "Authorize"])
                try await user.readsUserInfo()
                try await user.refreshesTwice()
                try await user.seesOneSession()
                // The browser still knows the user: no password this time.
                try await user.signsIn(pressing: ["Authorize"])
                try await user.signsOut(revoking: ["refresh_token", "access_token"], pressing: ["Logout"])
                try await user.isSignedOut()
                // The provider's own session is over too: it asks for the password again.
                try await user.signsIn(pressing: ["Sign in", "Authorize"])
            }
        }

        @Test func `a confidential client authenticates with a secret of any characters`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { user in
                try await user.signsIn(pressing: ["Sign in", "Authorize"])
                try await user.refreshesTwice()
                try await user.signsOut(revoking: ["refresh_token", "access_token"], pressing: ["Logout"])
                try await user.isSignedOut()
            }
        }

        @Test func `a wrong client secret is refused, and nothing is stored`() async throws {
            try await SignIn.at(Provider.here(), client: "web") { user in
                let login = try await user.login(secret: "not the secret")
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.code == "invalid_client")
                #expect(!FileManager.default.fileExists(atPath: user.store))
            }
        }

        /// RFC 9207 §2.4: it promises `iss`, and omits it in an error response, which is then ignored.
        @Test func `a refusal without the promised issuer is refused`() async throws {
            try await SignIn.at(Provider.here(), client: "native", decision: .refuses) { user in
                let login = try await user.login()
                #expect(try await user.browser.visit(after: login).pressed == ["Sign in", "Cancel"])
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.message.contains("iss"))
                #expect(!FileManager.default.fileExists(atPath: user.store))
            }
        }

        @Test func `a refresh token that was used before ends the session`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { user in
                try await user.signsIn(pressing: ["Sign in", "Authorize"])
                let refused = try await user.replaysAnOldRefreshToken()
                #expect(refused.code == "sign_in_required")
                #expect(refused.message.contains("invalid_grant"))
                #expect(try await user.sessions().first?.state == "ended")
            }
        }

        @Test func `its metadata is discovered`() async throws { try await Provider.here().isDiscovered() }
    }

    @Suite(.serialized, .provider("django_oauth_toolkit.py", "--without-iss")) struct DjangoOAuthToolkitWithoutIssuer {
        @Test func `a user who refuses is reported, and nothing is stored`() async throws {
            try await SignIn.at(Provider.here(), client: "native", decision: .refuses) { user in
                let login = try await user.login()
                #expect(try await user.browser.visit(after: login).pressed == ["Sign in", "Cancel"])
                #expect(login.status == 1)
                #expect(try login.json(SignIn.Failure.self).error.code == "access_denied")
                #expect(!login.errors.isEmpty)
                #expect(!FileManager.default.fileExists(atPath: user.store))
            }
        }

        @Test func `a public client signs in with a browser`() async throws {
            try await SignIn.at(Provider.here(), client: "native") { user in
                try await user.signsIn(pressing: ["Sign in", "Authorize"])
            }
        }
    }
}
