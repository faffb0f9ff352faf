internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The users and grants of oPRO.
struct OProRecords: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String
    }

    /// The only grant of a user. Each token request replaces it, and so ends all earlier sessions of the user.
    private struct Grant {
        var code: String?
        var accessToken: String?
        /// The end of the access token; nil if it never expires.
        var end: Date?
        var refreshToken: String?
    }

    private struct State {
        var users: [Int: OProUser] = [OProUser.ruby.id: .ruby]
        var nextID = 2
        var grants: [Int: Grant] = [:]

        /// Returns the user whose grant has this value.
        func user(with value: String, in part: KeyPath<Grant, String?>) -> Int? {
            grants.first { $0.value[keyPath: part] == value }?.key
        }
    }

    let lifetime: Int?
    private let clock: MovableClock
    private let state = LockedValue(State())

    init(lifetime: Int?, clock: MovableClock) { (self.lifetime, self.clock) = (lifetime, clock) }

    // MARK: Tokens

    func issue(to userID: Int) throws -> Issued {
        let issued = Issued(accessToken: try OpaqueToken.make(), refreshToken: try OpaqueToken.make())
        let end = lifetime.map(clock.now.adding)
        state.withLock {
            $0.grants[userID] = Grant(accessToken: issued.accessToken, end: end, refreshToken: issued.refreshToken)
        }
        return issued
    }

    func makeCode(for userID: Int) throws -> String {
        let code = try OpaqueToken.make()
        state.withLock { $0.grants[userID, default: Grant()].code = code }
        return code
    }

    func user(withCode code: String) -> Int? { state.withLock { $0.user(with: code, in: \.code) } }

    func user(withRefreshToken token: String) -> Int? { state.withLock { $0.user(with: token, in: \.refreshToken) } }

    func killAccessTokens() {
        state.withLock { state in for id in state.grants.keys { state.grants[id]?.accessToken = nil } }
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
            guard let id = state.user(with: accessToken, in: \.accessToken), let user = state.users[id] else {
                return .unknown
            }
            return state.grants[id]?.end.map { $0 > now } ?? true ? .good(user) : .expired
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

    func delete(_ id: Int) { state.withLock { ($0.users[id], $0.grants[id]) = (nil, nil) } }

    /// Creates a user whose user name is the email address.
    func makeRandomUser() throws -> OProUser {
        let random = Base64URL.encode(try randomBytes(6)).lowercased().filter { $0 != "_" && $0 != "-" }
        return state.withLock { state in
            let email = "\(random)\(state.nextID)@example.com"
            let user = OProUser(id: state.nextID, username: email, email: email, password: "password_\(random)")
            state.users[user.id] = user
            state.nextID += 1
            return user
        }
    }
}
