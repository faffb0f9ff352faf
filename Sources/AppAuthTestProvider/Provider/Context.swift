internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The state and configuration for one request.
struct Context: Sendable {
    let configuration: LocalProvider.Configuration
    let issuer: Issuer
    /// The origins of the parts that do not share the issuer's.
    let origins: [Role: String]
    let keys: KeyRing
    let store: Store
    /// All users. Its lock may be taken while the store's lock is held, but not the other way round.
    let people: LockedValue<[User]>
    /// The clients that registered themselves. The same lock order applies.
    let registrations: LockedValue<[String: DynamicClient]>
    /// The clients whose documents were fetched, by their URLs. The same lock order applies.
    let documents: LockedValue<[String: RegisteredClient]>
    /// The client for the provider's own requests.
    let ownClient: LoopbackClient
    /// The key of the tokens that protect forms against forgery.
    let formSecret: [UInt8]
    /// The faults of this request.
    var faults: [Fault.Effect] = []
    /// The key that this request proves. The tokens that it gets are bound to it.
    var confirmation: Confirmation?

    var now: Date { configuration.clock() }

    func hasOwnOrigin(_ role: Role) -> Bool { origins[role] != nil }

    func origin(of role: Role) -> String { origins[role] ?? issuer.origin }

    /// Returns the part that serves an endpoint.
    func role(of endpoint: Endpoint) -> Role { configuration.addition?.role(of: endpoint) ?? .issuer }

    func url(_ endpoint: Endpoint) -> String { origin(of: role(of: endpoint)) + issuer.path(of: endpoint) }

    /// Returns the URL of the pages of an interaction.
    func page(of interaction: Interaction) -> String { url(.interaction) + "/" + interaction.id }

    func client(_ id: String) -> RegisteredClient? {
        if let client = configuration.clients.first(where: { $0.id == id }) { return client }
        if let client = documents.withLock({ $0[id] }) { return client }
        let now = now
        return registrations.withLock { $0[id].flatMap { $0.isUsable(now) ? $0.client : nil } }
    }

    func user(subject: String) -> User? {
        people.withLock { $0.first { $0.subject == subject } }
    }

    /// Returns the user with this name and password. Compares in constant time, even if the name is unknown.
    func user(name: String, password: String) -> User? {
        let user = people.withLock { $0.first { $0.name == name } }
        return constantTimeEqual(user?.password ?? "", password) && !password.isEmpty ? user : nil
    }

    /// Returns the document with this request's faults applied.
    func edited(_ document: JSON) -> JSON {
        guard var object = document.object else { return document }
        for case .editDocument(let edit) in faults { edit(&object) }
        return .object(object)
    }
}

extension Date {
    /// Seconds since 1970, as in tokens.
    var seconds: Int { Int(timeIntervalSince1970.rounded(.down)) }

    func adding(_ seconds: Int) -> Date { addingTimeInterval(Double(seconds)) }
}
