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
        let isLine = username.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
        if username.isEmpty || !isLine { throw ValidationError("--username: expected a name in one line") }
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

extension SessionOptions {
    /// Returns a valid access token that programs without the session's keys can use.
    func bearerToken(_ console: Console, within limit: Duration) async throws -> AccessToken {
        try await withState(console, within: limit) { state in
            console.advice.note(await state.record.client.authentication)
            let deadline = ContinuousClock.now + limit
            return try await state.patiently(forceRefresh: false, until: deadline, console) {
                try await state.freshAccessToken(forceRefresh: $0).checkedAsBearer()
            }
        }
    }
}

extension AccessToken {
    /// Returns the token unless it is bound to a key.
    func checkedAsBearer() throws -> AccessToken {
        // RFC 9449 §7.1: the server demands a proof with each request.
        guard type == .bearer else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the token is bound to a key of the session. Use 'sign-in request', or sign in without --dpop",
                outcome: .notSent)
        }
        return self
    }
}

extension CommonOptions {
    /// Throws for `--json`: a helper prints what its caller expects.
    func refuseJSON() throws { if json { throw ValidationError("a helper takes no --json") } }
}
