internal import AppAuth
internal import ArgumentParser
internal import Logging

/// `sign-in logout`
struct Logout: Command {
    static let configuration = CommandConfiguration(
        abstract: "Revokes the tokens, ends the session and removes it here.")

    @Flag(name: .customLong("revoke-only"), help: "Revoke the tokens, and leave the browser alone.")
    var revokeOnly = false
    @Flag(help: "Remove the session here, and tell nobody.")
    var local = false
    @Flag(name: .customLong("no-browser"), help: "Show a URL that ends the session, and start no browser.")
    var noBrowser = false
    @Flag(help: "If what is stored is damaged, set it aside under a new name.")
    var discard = false
    @OptionGroup var session: SessionOptions
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(300) }
    /// The session has to go even where the provider never answers.
    var endsInTime: Bool { false }

    func validate() throws {
        guard !revokeOnly || !local else { throw ValidationError("--revoke-only and --local exclude each other") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        var signOut = SignOut(appName: "sign-in")
        signOut.timeout = limit
        signOut.revokesTokens = !local
        signOut.endsBrowserSession = !local && !revokeOnly
        if noBrowser { signOut.browser = nil }
        signOut.observe = { event in
            switch event {
            case .browserObstacle(let obstacle): console.say("\(obstacle.message.asSentence).")
            case .openingBrowser: console.say("Ending the session in the browser…")
            case .endSession(let url):
                console.say("Open this URL in a browser on this machine to end the session there too:")
                console.say("  \(url)")
            case .forgotten: console.log("store: the session is removed")
            case .revoked(let revocations):
                // Before the wait for the browser, which the person may end.
                for revocation in revocations {
                    guard let error = revocation.error else { continue }
                    console.note("the \(revocation.token) was not revoked: \(error.message)")
                }
            }
        }
        var (report, aside) = (SignOut.Report(), nil as String?)
        if let store = try await session.find()?.within(limit) {
            if discard { aside = try await StateFolder.discard(store, console) }
            if let state = try await StateFolder.restore(store, console.environment) {
                report = try await signOut.run(state)
            }
            if let store = store as? KeyringTokenStore { try? StateFolder().removeNote(of: store) }
        }
        let revoked = report.revocations.filter { $0.error == nil }.map { JSON.string($0.token) }
        if let error = report.endSessionError {
            console.note("the provider did not confirm the sign-out: \(error.message)")
        }
        var result: JSON.Object = ["revoked": .array(revoked), "session_ended": .bool(report.sessionEnded)]
        if let aside { result["discarded"] = .string(aside) }
        try console.succeed(.object(result), text: "Signed out.")
        return 0
    }
}
