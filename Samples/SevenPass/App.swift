internal import SampleSupport
internal import SevenPass

/// An app that uses 7Pass.
struct App: Sendable {
    let configuration: SevenPassConfiguration
    let store: any TokenStore
    var redirectURI: String?
    var browser: Browser? = .system
    /// Facebook's responses, for a sign-in through Facebook.
    var facebookResponses: AsyncStream<String>?

    /// Signs in, or restores the stored session.
    private func signIn() async throws -> AuthState {
        var signIn = try SignIn(configuration, appName: "7Pass sample")
        signIn.browser = browser
        signIn.redirect.privateUse = try redirectURI.map {
            try PrivateUseRedirect($0, appName: "7Pass sample", arguments: ["--deliver"])
        }
        signIn.observe = { event in
            if case .authorization(let url) = event { tell("Signing in with the browser. If none opens: \(url)") }
            if case .withoutBrowser(let error?, _) = event { tell(error.message) }
        }
        guard let facebookResponses else { return try await signIn.restoreOrSignIn(store: store) }
        var facebook = try FacebookSignIn(configuration, appName: "7Pass sample")
        facebook.signIn = signIn
        facebook.observe = { [browser] step in
            if case .open(let url) = step {
                tell("Facebook has responded. 7Pass continues\(browser == nil ? ": open \(url)" : ".")")
            }
            if case .refused(let error) = step { tell(error.message) }
        }
        return try await facebook.run(store: store, responses: facebookResponses)
    }

    /// Signs in, and performs the actions.
    func perform(_ actions: [SevenPassSample.Action], _ type: String) async throws {
        let state = try await signIn()
        let client = try SevenPassClient(state, configuration)
        for action in actions {
            switch action {
            case .signIn:
                let claims = await state.record.idToken?.claims
                tell("Signed in as \(claims?.name ?? claims?.email ?? "an unnamed user").")
            case .me:
                for claim in try await client.get("me").object?.members ?? [] {
                    tell("  \(claim.name): \(claim.value.string ?? "\(claim.value.serialized())")")
                }
            case .addOptIn:
                try await client.post("me/optins", ["type": .string(type), "accepted": true])
                tell("Added \(type).")
            case .optIns:
                for optIn in try await client.get("me/optins")["optins"]?.array ?? [] {
                    tell("  \(optIn["type"]?.string ?? "?"): \(optIn["accepted"] == true ? "" : "not ")accepted")
                }
            case .removeOptIn:
                try await client.delete("me/optins/" + type)
                tell("Removed \(type).")
            case .logout: try await logout(state)
            }
        }
    }

    /// Revokes and deletes the tokens, and ends the session in the browser.
    private func logout(_ state: AuthState) async throws {
        var signOut = SignOut(appName: "7Pass sample")
        signOut.browser = browser
        signOut.observe = { if case .endSession(let url) = $0 { tell("Sign out in the browser too: \(url)") } }
        let report = try await signOut.run(state)
        for revocation in report.revocations {
            tell("The \(revocation.token) was \(revocation.error.map { "not revoked: \($0.message)" } ?? "revoked").")
        }
        tell("The browser's session \(report.endSessionError.map { "may last: \($0.message)" } ?? "has ended").")
        tell("Signed out.")
    }
}
