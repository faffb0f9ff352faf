internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import ScriptedBrowser

/// The command `sign-in demo`.
struct Demo: Command {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Shows a whole sign-in at a provider that it starts on this computer.",
        discussion: "Example: sign-in demo --headless")

    @Flag(help: "Let a scripted browser act for the user.")
    var headless = false
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(300) }

    /// The user of the local provider; its page shows the same name and password.
    private static let user = (name: "alice", password: "looking-glass")

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        // An empty variable names no display.
        let isHeadless = headless || !(Self.isSet("DISPLAY") || Self.isSet("WAYLAND_DISPLAY"))
        let story = Story(isSilent: json)
        let provider = try DemoProvider()
        defer { provider.end() }
        let issuer = try await provider.issuer()
        story.tell("A provider is listening on this computer: \(issuer)")
        if isHeadless { story.tell("There is no display (or --headless): a scripted browser acts for the user.") }

        let result = try await withBrowser(isHeadless, console.environment) { browser in
            try await journey(issuer, browser, isHeadless, story, console)
        }
        if json { try console.succeed(.object(result), text: "") }
        return 0
    }

    /// Returns whether a variable is set and not empty.
    private static func isSet(_ variable: String) -> Bool { getenv(variable).map { $0.pointee != 0 } ?? false }

    private func journey(
        _ issuer: String, _ browser: Browser, _ isHeadless: Bool, _ story: Story, _ console: Console
    ) async throws -> JSON.Object {
        var signIn = try SignIn(
            issuer: Issuer(issuer), clientID: "demo", scope: [.openID, .profile, .email, .offlineAccess],
            appName: "sign-in", environment: console.environment)
        signIn.pages = CompletionPages(appName: "sign-in", inTerminal: true)
        signIn.browser = browser
        signIn.observe = { event in
            switch event {
            case .requesting, .scopesLeftOut, .foreignRedirect, .stillWaiting: break
            case .provider: story.tell("Fetched its metadata and checked that it names this issuer.")
            case .authorization(let url):
                story.tell(
                    "The browser opens the login page: sign in as \(Self.user.name) with the password \(Self.user.password)."
                )
                if !isHeadless {
                    console.say("If no browser opens, open this URL:\n"); console.say("  \(url.quotedAgainstJobs)")
                }
                story.wait("Waiting for the browser")
                console.waitForBrowser()
            case .browserObstacle(let obstacle): console.say(obstacle.message)
            case .withoutBrowser(let error, _): if let error { console.say(error.message) }
            case .wrongPaste: break
            case .redirected:
                console.waitForBrowser(false)
                story.tell("The browser came back with a code, and with the right state and issuer.")
            case .signedIn: story.tell("Exchanged the code, and verified the ID token’s signature and claims.")
            }
        }
        let state = try await signIn.run(store: MemoryTokenStore())
        let signedIn = await state.record
        story.tell("Signed in: \(signedIn.userDescription)", details: signedIn.idToken?.claims.json.lines ?? [])
        story.tell("The access token is valid until \(signedIn.expiry.string ?? "further notice").")

        let userInfo = try await state.userInfo()
        story.tell("The userinfo endpoint returned these claims:", details: userInfo.json.lines)

        _ = try await state.freshAccessToken(forceRefresh: true)
        let refreshed = await state.record
        let isRotated = refreshed.refreshToken != signedIn.refreshToken
        story.tell(
            "Refreshed: a new access token until \(refreshed.expiry.string ?? "further notice"), and the refresh token was \(isRotated ? "rotated" : "kept")."
        )

        var signOut = SignOut(appName: "sign-in")
        signOut.pages = CompletionPages(appName: "sign-in", inTerminal: true)
        signOut.browser = browser
        signOut.observe = { event in if case .openingBrowser = event { story.wait("Waiting for the browser") } }
        let report = try await signOut.run(state)
        let revoked = report.revocations.filter { $0.error == nil }.map(\.tokenTypeHint)
        story.tell(
            "Signed out: \(revoked.joined(separator: " and ")) revoked, \(report.sessionEnded ? "the session in the browser ended" : "the session in the browser not ended"), nothing left behind."
        )
        var result = signedIn.summary
        result["userinfo"] = userInfo.json
        result["refresh_token_rotated"] = .bool(isRotated)
        result["revoked"] = .array(revoked.map(JSON.string))
        result["session_ended"] = .bool(report.sessionEnded)
        return result
    }

    /// Runs the journey with the desktop's browser, or with a scripted one whose failure ends the journey.
    private func withBrowser(
        _ isHeadless: Bool, _ environment: Environment,
        _ journey: @escaping @Sendable (Browser) async throws -> JSON.Object
    ) async throws -> JSON.Object {
        guard isHeadless else { return try await journey(.system) }
        return try await withScriptedBrowser(
            entries: ["username": Self.user.name, "password": Self.user.password],
            transport: environment.transport, journey)
    }
}
