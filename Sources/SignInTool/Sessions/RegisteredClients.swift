internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// A client that `sign-in` has registered at a provider.
struct RegisteredClient: Sendable {
    let client: Client
    /// The redirect URI that was requested, and that the provider has registered; nil if it has registered none of them.
    let redirectURI: String?
    /// The resource for which a sign-in registered the client by itself; nil if the user registered it.
    let resource: String?
    /// The path of its file.
    let path: String

    var isOurs: Bool { resource != nil }

    /// The name of its session without a profile.
    var sessionName: SessionName { SessionName(client.provider.issuer, client.id, for: resource) }
}

/// The clients that `sign-in register`, and sign-ins for a resource, have registered. Each is a protected file in the
/// state folder: a session without tokens, so that clients are stored like sessions.
struct RegisteredClients: Sendable {
    private let folder: StateFolder
    private var path: String { folder.path + "/clients" }

    /// Creates the list; nil if there is no state folder.
    init?() {
        guard let folder = try? StateFolder() else { return nil }
        self.folder = folder
    }

    /// Throws if the folder is another user's: a client that could not be stored here would only be in the way there.
    static func requireOwner() throws {
        guard let path = RegisteredClients()?.path else { return }
        try Folder(of: "\(path)/client", location: path).requireOwner()
    }

    /// Some servers give every registration the same client ID: the user's client and that of each resource have files
    /// of their own.
    private func path(_ issuer: Issuer, _ clientID: String, for resource: String?) -> String {
        "\(path)/\(SessionName(issuer, clientID, for: resource).fileName).json"
    }

    /// Stores a client as it was registered, even if it cannot authenticate that way: the provider has created it
    /// already. For the same reason, the command goes on if the client cannot be stored.
    ///
    /// - Parameters:
    ///   - redirectURI: The redirect URI that was requested.
    ///   - resource: The resource for which the command registers the client by itself.
    /// - Returns: The path of the client's file; nil if there is none.
    @discardableResult
    static func keep(
        _ registration: ClientRegistration, at provider: ProviderMetadata, keyNamed name: String?,
        redirectURI: String?, for resource: String?, _ console: Console
    ) async throws -> String? {
        do {
            return try await RegisteredClients()?.keep(
                registration, at: provider, keyNamed: name, redirectURI: redirectURI, for: resource)
        } catch let error as AuthError {
            console.note("the client is registered, but could not be stored here: \(error.message)")
            return nil
        }
    }

    private func keep(
        _ registration: ClientRegistration, at provider: ProviderMetadata, keyNamed name: String?,
        redirectURI: String?, for resource: String?
    ) async throws -> String {
        var client = Client(id: registration.clientID, provider: provider)
        client.registration = registration
        if let known = try? registration.client(at: provider, keyNamed: name) { client = known }
        var record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil)
        (record.redirectURI, record.resources) = (redirectURI, resource.map { [$0] } ?? [])
        let (stored, path) = (record, path(client.provider.issuer, client.id, for: resource))
        try await FileTokenStore(path: path).update { $0 = stored }
        return path
    }

    /// Removes a client that the provider no longer knows, so that it is not used again.
    static func remove(_ client: RegisteredClient) async throws {
        try await FileTokenStore(path: client.path).update { $0 = nil }
    }

    /// Returns the client with this issuer and id. Without an id, returns the only one that the user has registered at the
    /// issuer: one that a sign-in has registered is only for its resource.
    ///
    /// - Parameter resources: The resources of the sign-in. A client that is registered for one of them comes first.
    /// - Throws: ``WrongUsage`` if there are several.
    static func find(issuer: String, clientID: String?, for resources: [String] = []) throws -> RegisteredClient? {
        if let clientID {
            guard let clients = RegisteredClients() else { return nil }
            for resource in resources.map(Optional.some) + [nil] {
                let path = try clients.path(Issuer(issuer), clientID, for: resource)
                if let found = try Self.client(path) { return found }
            }
            return nil
        }
        let found = try all(at: issuer).filter { !$0.isOurs }
        guard found.count > 1 else { return found.first }
        throw WrongUsage(
            "several clients are registered at \(issuer), choose one",
            choosing: found.map { .init(words: ["--client-id", $0.client.id].shellLine) })
    }

    /// Returns whether the user may have registered a client at the issuer. One that cannot be read is reported when it
    /// is used.
    static func mayHaveAny(at issuer: String) -> Bool { (try? all(at: issuer).allSatisfy(\.isOurs)) != true }

    /// Returns the registered clients of an issuer, or all of them.
    static func all(at issuer: String? = nil) throws -> [RegisteredClient] {
        try RegisteredClients()?.all(at: issuer.map { try Issuer($0) }) ?? []
    }

    private static func client(_ path: String) throws -> RegisteredClient? {
        do {
            guard let record = try FileTokenStore(path: path).read() else { return nil }
            return RegisteredClient(
                client: record.client, redirectURI: record.redirectURI, resource: record.resources.first, path: path)
        } catch var error as AuthError {
            // The file of a client, not the session that the options of the command name.
            error.message = error.message(for: ["--store", "file:\(path)"])
            throw error
        }
    }

    private func all(at issuer: Issuer?) throws -> [RegisteredClient] {
        let names: [String]
        do { names = try FolderNames.read(path) } catch  where error.number == ENOENT && !StateFile.isThere(path) {
            return []
        } catch { throw AuthError.unopened(path, path, "cannot be read", errno: error.number) }
        func mayBelong(_ name: String) -> Bool { issuer.map { SessionName.mayBelong(name, to: $0) } ?? true }
        return try names.sorted().filter { $0.hasSuffix(".json") && mayBelong($0) }
            .compactMap { try Self.client("\(path)/\($0)") }
            .filter { issuer == nil || $0.client.provider.issuer == issuer }
    }
}

extension Client {
    /// The client's authentication; nil if only the registration defines it, which throws for an unknown method.
    var knownAuthentication: ClientAuthentication? {
        authentication == .none && registration != nil ? nil : authentication
    }
}
