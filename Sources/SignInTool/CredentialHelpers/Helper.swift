internal import AppAuth
internal import AppAuthProtocol
internal import ArgumentParser

/// The command `sign-in helper`: the protocols in which other programs ask for credentials.
struct Helper: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper", abstract: "Gives a valid token to git, kubectl or Docker, as a credential helper.",
        discussion: "Example: sign-in helper git --host git.example.org --profile work get",
        subcommands: [GitHelper.self, KubectlHelper.self, DockerHelper.self])
}

/// The options of a helper that other programs ask by the name of a server.
struct ServerOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditionalSingleValue,
        help: "A server that may get the token, as host or host:port. All others get none.",
        transform: ServerOptions.checked)
    var host: [String]
    @Option(
        parsing: .unconditional,
        help: """
            The user name beside the token. With it, git gets no token for another user name; without it, for any. So put \
            a helper without --username after the others. (default: oauth2)
            """)
    var username: String?

    /// The user name if the other program asks for none.
    static let usualUsername = "oauth2"

    func validate() throws {
        if host.isEmpty { throw ValidationError("expected --host") }
        try username?.checkAsName(of: "--username")
    }

    /// Returns whether the server may get the token.
    ///
    /// RFC 6750 §5.3: a token is sent only to the intended server, and only over TLS. A program may ask for any server
    /// that redirects it.
    func mayGetToken(_ server: String, isEncrypted: Bool) -> Bool {
        let scheme = isEncrypted ? "https" : "http"
        guard let origin = Self.origin(server, scheme) else { return false }
        return host.contains { Self.origin($0, scheme) == origin }
    }

    /// Returns a valid token for a server, if one without a certificate belongs to this user or to the system. Another user of
    /// the machine could take the port of a server that has ended, also while the token is refreshed.
    ///
    /// - Parameter server: The server without a certificate; nil for one that has one.
    static func token(
        of session: SessionOptions, for server: SecureURL?, _ console: Console, within limit: Duration
    ) async throws -> AccessToken {
        try server?.checkOwner(console.environment)
        let token = try await session.bearerToken(console, within: limit)
        try server?.checkOwner(console.environment)
        return token
    }

    private static func checked(_ server: String) throws -> String {
        guard origin(server, "https") != nil else {
            throw ValidationError("expected host or host:port, such as git.example.org, without https://")
        }
        return server
    }

    /// Returns the origin of a server, so that the scheme's default port equals no port. Returns nil for anything but
    /// `host` or `host:port`, and for `http` beyond loopback.
    private static func origin(_ server: String, _ scheme: String) -> String? {
        guard let url = try? SecureURL("\(scheme)://\(server)"), url.authority == server else { return nil }
        return url.origin
    }
}

extension SecureURL {
    fileprivate func checkOwner(_ environment: Environment) throws {
        let port = port ?? 80
        let addresses = isThisMachine ? [host] : try HostsFile.loopbackAddresses(of: host)
        guard try addresses.contains(where: { try !environment.checkServer(at: $0, port, .resource) }) else { return }
        let isName = !host.isLoopbackHost || host == "localhost"
        throw AuthError(
            .transport, .resource,
            """
            no server listens at \(isName ? "each address of " : "")\(host):\(port), so any user of this machine could get \
            the token there. Start the server first, \(isName ? "name its address, such as 127.0.0.1, in place of \(host), " : "")or let it \
            use https
            """, outcome: .notSent)
    }
}

/// A credential helper. It prints what its caller expects, so it has no `--json`.
protocol CredentialHelper: Command {
    var session: NamedSessionOptions { get }
    /// Whether the caller shows what a helper that fails has printed on standard output.
    var printsFailures: Bool { get }
    /// Does the work with the named session.
    func respond(_ session: SessionOptions, _ console: Console, limit: Duration) async throws -> Int32
}

extension CredentialHelper {
    var printsFailures: Bool { false }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        do { return try await respond(session.options(within: limit), console, limit: limit) } catch {
            let message = (error as? AuthError)?.message ?? (error as? WrongUsage)?.message
            if printsFailures, let message { try console.print(Array((message.onOneLine + "\n").utf8)) }
            throw error
        }
    }
}
