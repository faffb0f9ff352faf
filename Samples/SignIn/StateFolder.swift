internal import AppAuth
internal import FoundationEssentials
internal import Glibc
internal import JOSE

/// Where sessions are kept that nobody named a place for: a file per issuer and client.
struct StateFolder: Sendable {
    /// `$XDG_STATE_HOME/sign-in`, else `~/.local/state/sign-in` (XDG Base Directory Specification).
    let path: String

    /// A session in the folder, or what is there instead of one.
    struct Entry: Sendable {
        let store: FileTokenStore
        let record: Result<AuthStateRecord, AuthError>
    }

    init() throws {
        if let folder = Self.variable("XDG_STATE_HOME"), folder.hasPrefix("/") {
            path = folder + "/sign-in"
        } else if let home = Self.variable("HOME") {
            path = home + "/.local/state/sign-in"
        } else {
            throw AuthError(.store, .store, "expected HOME or XDG_STATE_HOME in the environment, found neither")
        }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The store of an issuer's client: named after its host for the eye, and after both for certain.
    func store(issuer: Issuer, clientID: String) -> FileTokenStore {
        let host = issuer.url.host.filter { $0.isLetter || $0.isNumber || $0 == "." || $0 == "-" }.prefix(64)
        let digest = Base64URL.encode(Array(Digest.sha256.hash("\(issuer.string)\n\(clientID)").prefix(12)))
        return FileTokenStore(path: "\(path)/\(host)-\(digest).json")
    }

    /// The files of all that is stored, by name.
    func stores() throws -> [FileTokenStore] {
        guard access(path, F_OK) == 0 || errno != ENOENT else { return [] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw AuthError(.store, .store, "\(path) cannot be read: \(whyUnreadable)", outcome: .notSent)
        }
        return names.sorted().filter { $0.hasSuffix(".json") }.map { FileTokenStore(path: "\(path)/\($0)") }
    }

    private var whyUnreadable: String {
        guard let folder = opendir(path) else { return String(cString: strerror(errno)) }
        closedir(folder)
        return "its entries cannot be listed"
    }

    /// All that is stored, by name.
    func entries() async throws -> [Entry] {
        var entries: [Entry] = []
        for store in try stores() {
            do {
                if let record = try await store.load() { entries.append(Entry(store: store, record: .success(record))) }
            } catch let error as AuthError { entries.append(Entry(store: store, record: .failure(error))) }
        }
        return entries
    }
}

extension SessionOptions {
    /// The store that the options mean; nil if nothing is stored there.
    ///
    /// - Throws: ``WrongUsage`` if several sessions are stored and the options do not say which.
    func find() async throws -> (any TokenStore)? {
        if let store { return store.store }
        let folder = try StateFolder()
        if let issuer, let clientID { return folder.store(issuer: try Issuer(issuer), clientID: clientID) }
        // Where there is but one session, it is read once.
        if issuer == nil, clientID == nil {
            let stores = try folder.stores()
            if stores.count < 2 { return stores.first }
        }
        let entries = try await folder.entries().filter { entry in
            guard case .success(let record) = entry.record else { return issuer == nil && clientID == nil }
            return (issuer ?? record.client.provider.issuer.string) == record.client.provider.issuer.string
                && (clientID ?? record.client.id) == record.client.id
        }
        guard entries.count > 1 else { return entries.first?.store }
        let choices = entries.map { entry in
            switch entry.record {
            case .success(let record): "--issuer \(record.client.provider.issuer) --client-id \(record.client.id)"
            case .failure: "--store \(entry.store.place)"
            }
        }
        throw WrongUsage("several sessions are stored, choose one: \(choices.joined(separator: ", or "))")
    }

    /// Works with the session that the options mean. If that is interrupted, a refresh that is under way may still end:
    /// the server has changed the refresh token by then.
    func withState<Value: Sendable>(
        _ environment: Environment, _ work: (AuthState) async throws -> Value
    ) async throws -> Value {
        guard let store = try await find(), let state = try await AuthState(restoring: store, environment: environment)
        else {
            throw AuthError(
                .signInRequired, .store, "no session is stored, sign in first: sign-in login", outcome: .notSent)
        }
        do { return try await work(state) } catch let error as CancellationError {
            await state.settle(atMost: .seconds(2))
            throw error
        }
    }
}
