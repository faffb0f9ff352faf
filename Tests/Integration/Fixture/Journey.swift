import Foundation
import Testing

/// The steps of a sign-in, each with its expectations.
extension SignIn {
    /// Signs in, with the user pressing these buttons.
    func signsIn(pressing buttons: [String], _ location: SourceLocation = #_sourceLocation) async throws {
        let login = try await login()
        let visit = try await browser.visit(after: login)
        try #require(login.status == 0, "\(login.output) \(login.errors) \(visit)", sourceLocation: location)
        #expect(visit.pressed == buttons, sourceLocation: location)
        #expect(
            !visit.text.isEmpty && !visit.text.contains("ERR_"), "the last page: \(visit)", sourceLocation: location)

        let session = try login.json(Login.self)
        let claims = session.idTokenClaims
        #expect(session.issuer == provider.profile.issuer && claims.iss == provider.profile.issuer)
        #expect(session.clientID == client && claims.aud == client)
        #expect(!claims.sub.isEmpty && claims.name == "Alice Liddell" && claims.email == "alice@example.test")
        #expect(Set(session.scope.split(separator: " ")) == ["openid", "profile", "email", "offline_access"])
        #expect(session.tokenType == "Bearer")
        #expect(session.hasRefreshToken)
        #expect(session.userinfo == nil)
        #expect(try Date(#require(session.accessTokenExpiresAt), strategy: .iso8601) > .now)
        #expect(try FileManager.default.attributesOfItem(atPath: store)[.posixPermissions] as? Int == 0o600)
    }

    /// Reads the user's claims at the provider, which takes a valid access token.
    func readsUserInfo() async throws {
        let response = try await run("userinfo")
        #expect(response.status == 0, "\(response.errors)")
        let claims = try response.json(Claims.self)
        #expect(try await claims.sub == sessions().first?.sub)
        #expect(claims.name == "Alice Liddell" && claims.email == "alice@example.test")
    }

    /// Refreshes with the refresh token of the sign-in, then with the one that came for it: both providers take each only once.
    func refreshesTwice() async throws {
        let first = try await token()
        #expect(try await token() == first, "a token that is valid is kept")
        let second = try await token("--force-refresh")
        let third = try await token("--force-refresh")
        #expect(Set([first, second, third]).count == 3)
        try await readsUserInfo()
    }

    func token(_ options: String...) async throws -> String {
        let response = try await run("token", options)
        try #require(response.status == 0, "\(response.output) \(response.errors)")
        let token = try response.json(Token.self)
        #expect(token.tokenType == "Bearer")
        #expect(try Date(#require(token.expiresAt), strategy: .iso8601) > .now)
        #expect(!response.errors.contains(token.accessToken))
        return token.accessToken
    }

    /// Refreshes, restores the earlier record, and refreshes again: with a refresh token that was used already.
    func replaysAnOldRefreshToken() async throws -> Failure.Reason {
        let record = try Data(contentsOf: URL(filePath: store))
        _ = try await token("--force-refresh")
        try record.write(to: URL(filePath: store))
        let refused = try await run("token", ["--force-refresh"])
        #expect(refused.status == 1)
        return try refused.json(Failure.self).error
    }

    func sessions() async throws -> [Status.Session] {
        let status = try await run("status")
        #expect(status.status == 0, "\(status.errors)")
        return try status.json(Status.self).sessions
    }

    /// `status` knows the session, and shows no token.
    func seesOneSession() async throws {
        let session = try #require(try await sessions().first)
        #expect(session.issuer == provider.profile.issuer)
        #expect(session.clientID == client)
        #expect(session.hasRefreshToken)
        #expect(session.state == "signed_in")
        #expect(try await !run("status").output.contains(token()))
    }

    /// Signs out; the user at the browser confirms it.
    func signsOut(revoking tokens: [String], pressing buttons: [String]) async throws {
        let response = try await run("logout")
        try #require(response.status == 0, "\(response.output) \(response.errors)")
        #expect(try await browser.visit(after: response).pressed == buttons)
        let logout = try response.json(Logout.self)
        #expect(logout.revoked == tokens)
        #expect(logout.sessionEnded)
    }

    /// Nothing is left of the session on this machine.
    func isSignedOut() async throws {
        #expect(try await sessions().isEmpty)
        let response = try await run("userinfo")
        #expect(response.status == 1)
        #expect(try !response.json(Failure.self).error.code.isEmpty)
    }
}

extension Provider {
    /// `sign-in discover` shows the metadata, with this issuer.
    func isDiscovered() async throws {
        struct Metadata: Decodable { let issuer: String, token_endpoint: String }
        let program = Program(executable: try Places.program("sign-in"))
        let response = try await program.run(["discover", profile.issuer, "--json"])
        #expect(response.status == 0, "\(response.errors)")
        let metadata = try response.json(Metadata.self)
        #expect(metadata.issuer == profile.issuer)
        #expect(metadata.token_endpoint.hasPrefix("http://127.0.0.1:"))

        // RFC 8414 §3.3: the issuer in the document must be the requested one, byte for byte.
        let other = try await program.run(["discover", profile.issuer + "/", "--json"])
        #expect(other.status == 1)
        #expect(try !other.json(SignIn.Failure.self).error.code.isEmpty)
    }
}
