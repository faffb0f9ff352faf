public import AppAuth
public import ArgumentParser
internal import Foundation

/// The options of a sample. It uses a real server, or a double of it that the sample starts and stops.
public struct Server: ParsableArguments, Sendable {
    @Flag(help: "Use a simulated server on this machine. The default.") var demo = false
    @Option(help: "The URL or the issuer of a real server, for example https://api.example.org.") var server: String?
    @Option(name: .customLong("client-id"), help: "The client ID at that server.") var clientID: String?
    @Option(
        name: .customLong("client-secret-file"),
        help: "A file with the client secret, if there is one, readable only by you (chmod 600).")
    var secretFile: String?
    @Option(
        help: ArgumentHelp(
            "Where to keep the tokens: keyring or file:PATH. The default is a file; the sample ffs uses the keyring.",
            valueName: "place"),
        transform: StoreChoice.init(_:))
    var store: StoreChoice?

    /// Only for ArgumentParser, which sets the options.
    public init() {}

    /// Whether the options name a real server.
    public var isReal: Bool { server != nil }

    /// - Throws: `ValidationError` if a part of a real server is missing, or a real one and the demo are chosen.
    public func validate() throws {
        guard !isReal || clientID != nil, isReal || secretFile == nil else { throw Self.incomplete }
        if demo, isReal { throw ValidationError("expected --demo or --server, found both") }
    }

    private static let incomplete = ValidationError(
        "expected --server and --client-id together, and --client-secret-file only with them")

    /// The server that the sample uses.
    public struct Location: Sendable {
        /// The URL of its front page.
        public let url: String
        /// The client that is registered there for the sample.
        public let clientID: String
        /// The client's secret; nil for none.
        public let secret: Secret?
        /// The store for the tokens. With a real server it persists between runs.
        public let store: any TokenStore
        /// The double's own data, for example its users; null for a real server.
        public let demo: JSON

        /// The client of a server whose token endpoint is at this path. A secret is sent in the body.
        public func client(tokenPath: String) throws -> Client {
            Client(
                id: clientID, authentication: secret.map(ClientAuthentication.clientSecretPost) ?? .none,
                provider: try ProviderMetadata(tokenEndpoint: url + tokenPath))
        }
    }

    /// Calls a function with the server, and ends a double afterwards.
    ///
    /// - Parameters:
    ///   - sample: The name of the sample, which is also the name of the double.
    ///   - ownStore: Where the sample keeps the tokens of a real server without `--store`; nil for a file.
    ///   - redirectURIs: The redirect URIs to register at the double, and with them `--client-id`; nil if the double
    ///     registers none.
    public func visit(
        _ sample: String, keeping ownStore: StoreChoice? = nil, registering redirectURIs: [String]? = nil,
        _ work: (Location) async throws -> Void
    ) async throws {
        if let server, let clientID {
            let store: any TokenStore =
                try (store ?? ownStore)?.store(of: sample, at: server, clientID: clientID)
                ?? FileTokenStore(appID: sample)
            return try await work(
                Location(
                    url: server, clientID: clientID, secret: try secretFile.map(PrivateFile.secret), store: store,
                    demo: .null))
        }
        guard clientID == nil || redirectURIs != nil else { throw Self.incomplete }
        let registrations =
            (clientID.map { ["--client", $0] } ?? []) + (redirectURIs ?? []).flatMap { ["--redirect-uri", $0] }
        let double = try DemoServer(double: sample, registrations)
        defer { double.end() }
        let demo = try double.demo()
        let (url, clientID) = (demo["base_url"]?.string ?? "", demo["client_id"]?.string ?? "")
        tell("The simulated server is at \(url)")
        let folder = FileManager.default.temporaryDirectory.appending(component: "\(sample)-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = (store ?? .file(folder.path + "/session.json")).store(of: sample, at: url, clientID: clientID)
        try await Self.lend(store) {
            try await work(
                Location(
                    url: url, clientID: clientID, secret: demo["client_secret"]?.string.map { Secret($0) },
                    store: store, demo: demo))
        }
    }

    /// Removes the session from the store at the end: it is useless without the double. A session that was there before
    /// is not touched.
    private static func lend(_ store: any TokenStore, to work: () async throws -> Void) async throws {
        if try await store.load() != nil {
            throw AuthError(
                .invalidConfiguration, .store,
                "\(store.location) has the session of another run: name another store, or remove it")
        }
        let result: Result<Void, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        _ = try? await store.update { $0 = nil }
        try result.get()
    }
}
