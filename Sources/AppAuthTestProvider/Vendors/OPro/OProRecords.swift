internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The users, apps and grants of oPRO.
struct OProRecords: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String
    }

    struct GrantKey: Hashable {
        let userID: Int
        let clientID: String
    }

    /// The only grant of a user and an app. Each token request replaces it, and so ends all earlier sessions of the user
    /// in this app.
    private struct Grant {
        var code: String?
        var accessToken: String?
        /// The end of the access token; nil if it never expires.
        var end: Date?
        var refreshToken: String?
    }

    private struct State {
        var users: [Int: OProUser]
        /// The secrets of the apps.
        var clients: [String: String]
        var nextID: Int
        var grants: [GrantKey: Grant] = [:]

        /// Returns the grant that has this value.
        func grant(with value: String, in part: KeyPath<Grant, String?>) -> GrantKey? {
            grants.first { $0.value[keyPath: part] == value }?.key
        }

        mutating func add(email: String, password: String) -> OProUser {
            let user = OProUser(id: nextID, username: email, email: email, password: password)
            users[user.id] = user
            nextID += 1
            return user
        }
    }

    let lifetime: Int?
    private let clock: MovableClock
    private let demo: GrantKey
    private let state: LockedValue<State>

    init(users: [OProUser], clients: [(id: String, secret: String)], lifetime: Int?, clock: MovableClock) {
        (self.lifetime, self.clock) = (lifetime, clock)
        demo = GrantKey(userID: users.first?.id ?? 0, clientID: clients.first?.id ?? "")
        state = LockedValue(
            State(
                users: Dictionary(users.map { ($0.id, $0) }) { $1 }, clients: Dictionary(clients) { first, _ in first },
                nextID: (users.map(\.id).max() ?? 0) + 1))
    }

    // MARK: Apps

    func knows(_ clientID: String) -> Bool { state.withLock { $0.clients[clientID] != nil } }

    func hasClient(_ id: String, secret: String) -> Bool {
        state.withLock { $0.clients[id] }.map { constantTimeEqual(secret, $0) } ?? false
    }

    func makeClient() throws -> (id: String, secret: String) {
        let client = (id: try OpaqueToken.make(), secret: try OpaqueToken.make())
        state.withLock { $0.clients[client.id] = client.secret }
        return client
    }

    // MARK: Tokens

    func issue(_ grant: GrantKey) throws -> Issued {
        let issued = Issued(accessToken: try OpaqueToken.make(), refreshToken: try OpaqueToken.make())
        let end = lifetime.map(clock.now.adding)
        state.withLock {
            $0.grants[grant] = Grant(accessToken: issued.accessToken, end: end, refreshToken: issued.refreshToken)
        }
        return issued
    }

    /// Returns a code of the first user.
    ///
    /// - Parameter clientID: The app; nil for the first one.
    func makeCodeOfDemo(for clientID: String? = nil) throws -> String {
        let code = try OpaqueToken.make()
        let grant = GrantKey(userID: demo.userID, clientID: clientID ?? demo.clientID)
        state.withLock { $0.grants[grant, default: Grant()].code = code }
        return code
    }

    func grant(of clientID: String, withCode code: String) -> GrantKey? {
        state.withLock { $0.grant(with: code, in: \.code) }.flatMap { $0.clientID == clientID ? $0 : nil }
    }

    func grant(of clientID: String, withRefreshToken token: String) -> GrantKey? {
        state.withLock { $0.grant(with: token, in: \.refreshToken) }.flatMap { $0.clientID == clientID ? $0 : nil }
    }

    func killAccessTokens() {
        state.withLock { state in for key in state.grants.keys { state.grants[key]?.accessToken = nil } }
    }

    /// The state of an access token.
    enum TokenState {
        case good(OProUser)
        case expired
        case unknown
    }

    func standing(of accessToken: String) -> TokenState {
        let now = clock.now
        return state.withLock { state in
            guard let key = state.grant(with: accessToken, in: \.accessToken), let user = state.users[key.userID]
            else { return .unknown }
            return state.grants[key]?.end.map { $0 > now } ?? true ? .good(user) : .expired
        }
    }

    // MARK: Users

    /// - Parameter name: A user name or an email address; with `isEmail` only an email address.
    func user(named name: String, isEmail: Bool, password: String) -> OProUser? {
        state.withLock { state in
            state.users.values.first { user in
                (user.email == name || (!isEmail && user.username == name))
                    && constantTimeEqual(user.password, password)
            }
        }
    }

    func update(_ id: Int, with changes: JSON.Object) throws(OProUser.Refusal) -> OProUser {
        try state.withLock { state throws(OProUser.Refusal) in
            guard var user = state.users[id] else { throw OProUser.Refusal(sentence: "User is gone") }
            try user.apply(changes)
            guard !state.users.values.contains(where: { $0.id != id && $0.email == user.email }) else {
                throw OProUser.Refusal(sentence: "Email has already been taken")
            }
            state.users[id] = user
            return user
        }
    }

    func delete(_ id: Int) {
        state.withLock { state in
            state.users[id] = nil
            state.grants = state.grants.filter { $0.key.userID != id }
        }
    }

    /// Creates a user whose user name is the email address.
    func signUp(email: String, password: String) throws(OProUser.Refusal) -> OProUser {
        guard email.split(separator: "@").count == 2 else { throw OProUser.Refusal(sentence: "Email is invalid") }
        return try state.withLock { state throws(OProUser.Refusal) in
            guard !state.users.values.contains(where: { $0.email == email }) else {
                throw OProUser.Refusal(sentence: "Email has already been taken")
            }
            return state.add(email: email, password: password)
        }
    }

    /// Creates a user whose user name is the email address.
    func makeRandomUser() throws -> OProUser {
        let random = Base64URL.encode(try randomBytes(6)).lowercased().filter { $0 != "_" && $0 != "-" }
        return state.withLock { state in
            state.add(email: "\(random)\(state.nextID)@example.com", password: "password_\(random)")
        }
    }
}
