public import Logging

/// What the protocol takes from outside: HTTP, the clock, the server's ways, keys, and where its log goes.
public struct Environment: Sendable {
    /// The HTTP client.
    public var transport: any HTTPTransport
    /// The current time, by the machine's clocks.
    public var now: @Sendable () -> Timestamp
    /// What the server says otherwise than the RFCs.
    public var dialect = Dialect.standard
    /// Finds the key of a client that authenticates by one (``ClientAuthentication/privateKeyJWT(keyNamed:_:)``). Asked for
    /// each request to the token endpoint and its siblings.
    public var clientKey: @Sendable (_ name: String) async throws -> ClientKey = { name in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.clientKey to find the key '\(name)', found none",
            outcome: .notSent)
    }
    /// Finds the key that an answer was encrypted to, by the `kid` of its header; nil where it has none. Asked for each such
    /// answer. The name is the sender's and nothing has been verified yet: look it up among the app's own keys, and take
    /// it for no path.
    public var decryptionKey: @Sendable (_ keyID: String?) async throws -> DecryptionKey = { _ in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.decryptionKey to find the key of an encrypted answer, found none")
    }
    /// What has to come encrypted, since the client is registered so: it is refused in the clear. Nothing by default.
    public var requiredEncryption: Set<EncryptedResponse> = []
    /// What time it is at the servers that have answered.
    package let serverClocks = ServerClocks()
    /// Passes time before something that was refused is tried again.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// How long the refresh of another process is waited for.
    package var lockPatience = LockPatience()
    /// Where each step is logged, without secrets; silent unless an app sets it.
    public var logger: Logger

    /// Puts an environment together.
    public init(
        transport: any HTTPTransport, now: @escaping @Sendable () -> Timestamp = { .current }, logger: Logger = .silent
    ) {
        (self.transport, self.now, self.logger) = (transport, now, logger)
    }
}

extension Logger {
    /// A logger that writes nothing.
    public static let silent = Logger(label: "appauth") { _ in SwiftLogNoOpLogHandler() }
}
