internal import AppAuth
internal import ArgumentParser

/// The command `sign-in helper docker`, a credential helper for the clients of container registries.
///
/// They take the helper's program from its name, `docker-credential-NAME`, without arguments: a script of one line.
struct DockerHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        commandName: "docker", abstract: "Gives Docker the token as the password of a registry.",
        discussion: """
            Example: a program docker-credential-work with the line
            exec sign-in helper docker --host registry.example.org --profile work "$@"
            and in ~/.docker/config.json: "credHelpers": {"registry.example.org": "work"}
            """)

    enum Operation: String, ExpressibleByArgument, CaseIterable, Sendable {
        case get, store, erase, list
    }

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: NamedSessionOptions
    @OptionGroup var common: CommonOptions
    @Argument(help: "Docker adds it.")
    var operation: Operation

    var printsFailures: Bool { true }

    func respond(_ session: SessionOptions, _ console: Console, limit: Duration) async throws -> Int32 {
        let response = try await response(session, console, limit)
        try console.print(Array((response.serialized() + "\n").utf8))
        return 0
    }

    private func response(_ session: SessionOptions, _ console: Console, _ limit: Duration) async throws -> JSON {
        let username = server.username ?? ServerOptions.usualUsername
        switch operation {
        case .get:
            // One line, with or without its line break.
            var line = try InputText.read()[...]
            if line.last == UInt8(ascii: "\n") { line.removeLast() }
            let asked = String(decoding: line, as: UTF8.self)
            guard mayGetToken(asked) else { throw Self.failure("credentials not found in native keychain") }
            // Docker uses http, too, for each name of this machine. The scheme only makes a URL of the text.
            let server = try SecureURL("https://\(Self.server(in: asked))")
            let token = try await ServerOptions.token(of: session, for: server, console, within: limit)
            return [
                "ServerURL": .string(asked), "Username": .string(username),
                "Secret": .string(token.value.reveal()),
            ]
        case .list: return .object(.init(server.host.map { ($0, .string(username)) }))
        case .store: throw Self.failure("this helper stores no passwords: use 'sign-in login'")
        case .erase: throw Self.failure("this helper keeps the session: use 'sign-in logout'")
        }
    }

    /// - Parameter asked: A host, or the URL of a registry.
    private func mayGetToken(_ asked: String) -> Bool {
        server.mayGetToken(Self.server(in: asked), isEncrypted: !asked.hasPrefix("http://"))
    }

    private static func server(in asked: String) -> String {
        let scheme = ["https://", "http://"].first(where: asked.hasPrefix) ?? ""
        return String(asked.dropFirst(scheme.count).prefix { $0 != "/" })
    }

    private static func failure(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message)
    }
}
