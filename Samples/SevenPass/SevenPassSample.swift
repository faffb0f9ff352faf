internal import ArgumentParser
internal import SampleSupport
internal import SevenPass

/// `seven-pass`: everything that an app does at 7Pass.
@main
struct SevenPassSample: SampleCommand {
    static let configuration = CommandConfiguration(
        commandName: "seven-pass", abstract: "Signs in at 7Pass, and works with the account.",
        discussion:
            "Against a double of 7Pass on this machine, which it starts and ends, unless --issuer names a server.",
        subcommands: [Tour.self, Login.self, Me.self, OptIns.self, Logout.self], defaultSubcommand: Tour.self)
}

/// Signs in, or takes up the session that is stored; a sign-in goes through Facebook if there are answers to wait for.
func signIn(
    _ configuration: SevenPassConfiguration, store: any TokenStore, browser: Browser?, isScripted: Bool = false,
    desktop: DesktopHandlers = .system, answers: AsyncStream<String>? = nil
) async throws -> Session {
    let observe: @Sendable (SignIn.Event) -> Void = { event in
        if !isScripted, case .authorization(let url) = event {
            tell("Sign in with the browser. If none opens: \(url)")
        }
        if case .withoutBrowser(let error?, _) = event { tell(error.message) }
    }
    let state: AuthState
    if let answers {
        var facebook = try FacebookSignIn(configuration, appName: "7Pass sample")
        facebook.desktop = desktop
        facebook.signIn.browser = browser
        facebook.signIn.observe = observe
        facebook.observe = { step in
            if case .open(let url) = step {
                tell("Facebook has answered; 7Pass goes on with it\(browser == nil ? ": open \(url)" : ".")")
            }
            if case .refused(let error) = step { tell(error.message) }
        }
        state = try await facebook.run(store: store, answers: answers)
    } else {
        var signIn = SignIn(configuration, appName: "7Pass sample")
        signIn.browser = browser
        signIn.observe = observe
        state = try await signIn.resume(store: store)
    }
    return Session(state: state, client: try SevenPassClient(state, configuration), browser: browser)
}

/// Somebody who has signed in.
struct Session: Sendable {
    let state: AuthState
    let client: SevenPassClient
    let browser: Browser?

    func greet() async {
        let claims = await state.record.idToken?.claims
        tell("Signed in as \(claims?.name ?? claims?.email ?? claims?.subject ?? "somebody").")
    }

    func showMe() async throws {
        for claim in try await client.get("me").object?.members ?? [] {
            tell("  \(claim.name): \(claim.value.string ?? "\(claim.value.serialized())")")
        }
    }

    func showOptIns() async throws {
        for optIn in try await client.get("me/optins")["optins"]?.array ?? [] {
            tell("  \(optIn["type"]?.string ?? ""): \(optIn["accepted"]?.bool == true ? "accepted" : "not accepted")")
        }
    }

    func addOptIn(_ type: String) async throws {
        try await client.post("me/optins", ["type": .string(type), "accepted": true])
        tell("Added \(type).")
    }

    func removeOptIn(_ type: String) async throws {
        try await client.delete("me/optins/" + type)
        tell("Removed \(type).")
    }

    func logout() async throws {
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

struct Tour: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Does all of it. The default.")
    @OptionGroup var server: Server

    func run() async throws {
        try await server.withSession { session in
            await session.greet()
            try await session.showMe()
            try await session.addOptIn("sms")
            try await session.showOptIns()
            try await session.removeOptIn("sms")
            try await session.logout()
        }
    }
}

struct Login: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "sign-in", abstract: "Signs in.")
    @OptionGroup var server: Server

    func run() async throws { try await server.withSession { await $0.greet() } }
}

struct Me: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the account.")
    @OptionGroup var server: Server

    func run() async throws { try await server.withSession { try await $0.showMe() } }
}

struct OptIns: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "optins", abstract: "Shows the opt-ins, after adding one or removing one.")
    @Option(help: "Agree to this type.") var add: String?
    @Option(help: "Remove this type.") var remove: String?
    @OptionGroup var server: Server

    func run() async throws {
        try await server.withSession { [add, remove] session in
            if let add { try await session.addOptIn(add) }
            if let remove { try await session.removeOptIn(remove) }
            try await session.showOptIns()
        }
    }
}

struct Logout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Revokes the tokens, and signs out in the browser too.")
    @OptionGroup var server: Server

    func run() async throws {
        guard try await server.isSignedIn() else { return tell("Nobody is signed in.") }
        try await server.withSession { try await $0.logout() }
    }
}
