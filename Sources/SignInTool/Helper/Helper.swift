internal import AppAuth
internal import ArgumentParser

/// The command `sign-in helper`: the protocols in which other programs ask for credentials.
struct Helper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper", abstract: "Gives a valid token to git, kubectl or Docker, as a credential helper.",
        subcommands: [GitHelper.self, KubectlHelper.self, DockerHelper.self])
}

/// The options of a helper that other programs ask by the name of a server.
struct ServerOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditionalSingleValue,
        help: "A server that may get the token, as host or host:port. All others get none.")
    var host: [String]
    @Option(parsing: .unconditional, help: "The user name beside the token.")
    var username = "oauth2"

    func validate() throws {
        if host.isEmpty { throw ValidationError("Missing expected argument '--host <host>'") }
        try username.checkAsName(of: "--username")
    }

    /// Returns whether the server may get the token.
    ///
    /// RFC 6750 §5.3: a token is sent only to the intended server, and only over TLS. A program may ask for any server
    /// that redirects it.
    func mayGetToken(_ server: String, isEncrypted: Bool) -> Bool {
        guard host.contains(where: { $0.lowercased() == server.lowercased() }) else { return false }
        return isEncrypted || (try? SecureURL("http://\(server)/"))?.isLoopback == true
    }
}

extension CommonOptions {
    /// Throws for `--json`: a helper prints what its caller expects.
    func refuseJSON() throws { if json { throw ValidationError("a helper takes no --json") } }
}
