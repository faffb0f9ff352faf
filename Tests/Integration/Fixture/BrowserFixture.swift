import Foundation
import Testing

/// The fixture of a real browser, with `sign-in`, a store of its own, and the local provider.
struct BrowserFixture {
    let window: RealBrowser.Window
    let provider: HelperProcess
    let issuer: String
    private let workspace: Workspace

    static let (user, password) = ("wilma", "correct-horse")

    static func at(_ settings: RealBrowser.Settings, _ body: (BrowserFixture) async throws -> Void) async throws {
        let browser = try await #require(RealBrowsers.current).browser(settings)
        let workspace = try Workspace()
        let provider = try HelperProcess(
            Places.program("local-provider"), ["--exit-with-stdin", "--user", "\(user):\(password)"])
        try await provider.beside {
            let issuer = try await provider.line()
            try await browser.inWindow {
                try await body(BrowserFixture(window: $0, provider: provider, issuer: issuer, workspace: workspace))
            }
        }
    }

    // MARK: The command

    /// Runs `sign-in login`, and `atBrowser` with the URL that it opens.
    func login(_ atBrowser: (String) async throws -> Void) async throws -> Program.Outcome {
        let arguments = [
            "login", "--issuer", issuer, "--client-id", "demo", "--scope", "openid profile offline_access",
        ]
        return try await run(arguments, atBrowser)
    }

    func logout(_ atBrowser: (String) async throws -> Void) async throws -> Program.Outcome {
        try await run(["logout"], atBrowser)
    }

    /// The sessions that `status` reports: one at most.
    func sessions() async throws -> [SignIn.Status.Session] {
        let status = try await program().run(["status"] + common)
        return try status.json(SignIn.Status.self).sessions
    }

    private func run(_ arguments: [String], _ atBrowser: (String) async throws -> Void) async throws -> Program.Outcome
    {
        let opener = try Opener()
        var program = try program()
        program.environment["BROWSER"] = opener.program
        async let outcome = { [program, common] in
            defer { opener.close() }
            return try await program.run(arguments + common)
        }()
        guard let url = await opener.url() else {
            throw SetupFailure("Nothing was opened in the browser: \(try await outcome)")
        }
        try await atBrowser(url)
        return try await outcome
    }

    private var common: [String] { ["--store", "file:\(workspace.path("session"))", "--json", "--timeout", "60"] }

    private func program() throws -> Program { Program(executable: try Places.program("sign-in")) }

    /// The command has succeeded, and its session is the only one.
    func isSignedIn(_ login: Program.Outcome, _ location: SourceLocation = #_sourceLocation) async throws {
        try #require(login.status == 0, "\(login)", sourceLocation: location)
        let session = try login.json(SignIn.Login.self)
        #expect(session.issuer == issuer && session.hasRefreshToken, sourceLocation: location)
        let sessions = try await sessions()
        #expect(sessions.count == 1 && sessions.first?.state == "signed_in", "\(sessions)", sourceLocation: location)
    }

    // MARK: The provider's pages

    /// Enters name and password, which leads to the consent page.
    func identifies(in tab: Tab) async throws {
        try await tab.shows("Sign in")
        try await tab.type(Self.user, into: "input[name=username]")
        try await tab.type(Self.password, into: "input[name=password]")
        try await tab.click("button[value=sign-in]")
        try await tab.shows("Allow Demo App?")
    }

    /// Goes through a whole sign-in.
    func signsIn(in tab: Tab) async throws {
        try await identifies(in: tab)
        try await tab.click("button[value=allow]")
    }
}

/// Where a sign-in leads back to.
struct WayBack {
    /// The redirect URI: `sign-in` listens there, and opens a one-time URL of the same port.
    let uri: String

    init(of oneTimeURL: String) throws {
        var parts = try #require(URLComponents(string: oneTimeURL))
        (parts.path, parts.query) = ("/callback", nil)
        uri = try #require(parts.string)
    }

    /// An address of the listener.
    func url(_ path: String) throws -> String {
        var parts = try #require(URLComponents(string: uri))
        (parts.path, parts.query) = (path, nil)
        return try #require(parts.string)
    }

    /// Whether it is the page at which a sign-in ends.
    func isEnd(_ url: String) -> Bool { url.hasPrefix(uri + "/done/") && !url.contains("?") && !url.contains("#") }
}
