internal import FoundationEssentials
internal import VendorSample
internal import SevenPass

/// An app that uses 7Pass.
struct App: Sendable {
    let configuration: SevenPassConfiguration
    let store: any TokenStore
    let redirectURI: String?
    let browser: Browser?
    let offersFacebook: Bool
    /// Facebook's responses. If nil, the desktop starts this program with them.
    let responses: AsyncStream<String>?
    /// The limit for the browser's part of the sign-out.
    let logoutLimit: Duration

    private static let name = "7Pass sample"
    private static let pages = CompletionPages(appName: name, inTerminal: true)

    /// The redirect to a scheme of the app's own, for sign-in and sign-out. The scripted browser delivers it by itself.
    private func privateUse() throws -> PrivateUseRedirect? {
        let handler = browser != nil && responses != nil ? PrivateUseRedirect.Installation.byPackage : .whileWaiting
        return try redirectURI.map {
            try PrivateUseRedirect($0, appName: Self.name, arguments: ["--deliver"], installation: handler)
        }
    }

    /// Signs in, or restores the stored session.
    private func signIn() async throws -> AuthState {
        var signIn = SignIn(configuration, appName: Self.name)
        (signIn.browser, signIn.pages) = (browser, Self.pages)
        signIn.redirect.privateUse = try privateUse()
        signIn.observe = { event in
            if case .authorization(let url) = event { tell("Signing in with the browser. If none opens: \(url)") }
            if case .withoutBrowser(let error?, _) = event { tell(error.message) }
        }
        guard offersFacebook else { return try await signIn.restoreOrSignIn(store: store) }
        var facebook = try FacebookSignIn(configuration, appName: Self.name)
        facebook.signIn = signIn
        facebook.observe = { [browser] step in
            if case .open(let url) = step {
                tell("Facebook has responded. 7Pass continues\(browser == nil ? ": open \(url)" : ".")")
            }
            if case .refused(let error) = step { tell(error.message) }
            if case .ignored(let reason) = step { tell("A URL was dropped: \(reason)") }
        }
        if let responses { return try await facebook.restoreOrSignIn(store: store, responses: responses) }
        facebook.redirect = try configuration.facebook?.redirect(appName: Self.name, arguments: ["--deliver"])
        return try await facebook.restoreOrSignIn(store: store)
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
            case .claims:
                // The ID token is verified, and stays with the session.
                tell("The ID token says:")
                list(await state.claims?.json)
            case .me:
                tell("The accounts API says:")
                list(try await client.get("me"))
            case .refresh:
                let token = try await state.freshAccessToken(forceRefresh: true)
                tell("Refreshed: the access token is valid until \(token.expiresAt?.formatted(.iso8601) ?? "revoked").")
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

    private func list(_ object: JSON?) {
        for member in object?.object?.members ?? [] {
            tell("  \(member.name): \(member.value.string ?? member.value.serialized())")
        }
    }

    /// Revokes and deletes the tokens, and ends the session in the browser.
    private func logout(_ state: AuthState) async throws {
        var signOut = SignOut(appName: Self.name)
        (signOut.browser, signOut.pages, signOut.timeout) = (browser, Self.pages, logoutLimit)
        // 7Pass accepts only registered URIs. On loopback, the default is that of the sign-in.
        if let redirect = try privateUse() { signOut.postLogoutRedirect = .privateUse(redirect) }
        let countdown = Countdown(logoutLimit)
        defer { countdown.stop() }
        signOut.observe = { event in
            if case .endSession(let url) = event { tell("Sign out in the browser too: \(url)") }
            if case .waiting = event { countdown.start() }
        }
        let report = try await signOut.run(state)
        for token in report.revocations {
            tell("The \(token.tokenTypeHint) was \(token.error.map { "not revoked: \($0.message)" } ?? "revoked").")
        }
        tell("The browser's session \(report.endSessionError.map { "may last: \($0.message)" } ?? "has ended").")
        tell("Signed out.")
    }
}
