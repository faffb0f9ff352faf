internal import AppAuth
internal import FoundationEssentials
internal import Glibc

/// The clients that `sign-in register` has registered. Each is a protected file in the state folder: a session without
/// tokens, so that clients are stored like sessions.
struct RegisteredClients: Sendable {
    private let folder: StateFolder
    private var path: String { folder.path + "/clients" }

    /// Creates the list; nil if there is no state folder.
    init?() {
        guard let folder = try? StateFolder() else { return nil }
        self.folder = folder
    }

    private func path(_ issuer: Issuer, _ clientID: String) -> String {
        "\(path)/\(SessionName.client(issuer, clientID).fileName).json"
    }

    /// Stores a client as it was registered, even if it cannot authenticate that way: the provider has created it
    /// already. For the same reason, the command goes on if the client cannot be stored.
    static func keep(
        _ registration: ClientRegistration, at provider: ProviderMetadata, keyNamed name: String?, _ console: Console
    ) async throws {
        do { try await RegisteredClients()?.keep(registration, at: provider, keyNamed: name) } catch let error
            as AuthError
        { console.note("the client is registered, but could not be stored here: \(error.message)") }
    }

    private func keep(_ registration: ClientRegistration, at provider: ProviderMetadata, keyNamed name: String?)
        async throws
    {
        var client = Client(id: registration.clientID, provider: provider)
        client.registration = registration
        if let known = try? registration.client(at: provider, keyNamed: name) { client = known }
        let record = try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil)
        try await FileTokenStore(path: path(client.provider.issuer, client.id)).update { $0 = record }
    }

    /// Returns the client with this issuer and id; without an id, the only client of the issuer.
    ///
    /// - Throws: ``WrongUsage`` if there are several.
    static func find(issuer: String, clientID: String?) throws -> Client? {
        if let clientID {
            guard let clients = RegisteredClients() else { return nil }
            return try Self.client(clients.path(Issuer(issuer), clientID))
        }
        let found = try all(at: issuer)
        guard found.count > 1 else { return found.first }
        let choices = found.map { ["--client-id", $0.id].shellLine }.joined(separator: ", or ")
        throw WrongUsage("several clients are registered at \(issuer), choose one: \(choices)")
    }

    /// Returns whether the issuer may have a registered client. One that cannot be read is reported when it is used.
    static func mayHaveAny(at issuer: String) -> Bool { (try? all(at: issuer).isEmpty) != true }

    /// Returns the registered clients of an issuer.
    static func all(at issuer: String) throws -> [Client] { try RegisteredClients()?.all(at: issuer) ?? [] }

    private static func client(_ path: String) throws -> Client? {
        do { return try FileTokenStore(path: path).read()?.client } catch var error as AuthError {
            // The file of a client, not the session that the options of the command name.
            error.message = error.message(for: ["--store", "file:\(path)"])
            throw error
        }
    }

    private func all(at issuer: String) throws -> [Client] {
        let names: [String]
        do { names = try FolderNames.read(path) } catch  where error.number == ENOENT && !StateFile.isThere(path) {
            return []
        } catch { throw AuthError.unopened(path, path, "cannot be read", errno: error.number) }
        let issuer = try Issuer(issuer)
        return try names.sorted().filter { $0.hasSuffix(".json") && SessionName.mayBelong($0, to: issuer) }
            .compactMap { try Self.client("\(path)/\($0)") }
            .filter { $0.provider.issuer == issuer }
    }
}

extension Client {
    /// The client's authentication; nil if only the registration defines it, which throws for an unknown method.
    var knownAuthentication: ClientAuthentication? {
        authentication == .none && registration != nil ? nil : authentication
    }
}
