internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The users, codes and tokens of oPRO.
struct OProRecords: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String
    }

    private struct AccessToken {
        let userID: Int
        /// The end of the token; nil if it never expires.
        let end: Date?
    }

    private struct RefreshToken {
        let userID: Int
        /// The access token that was issued with it.
        let accessToken: String
    }

    private struct State {
        var users: [Int: OProUser] = [OProUser.ruby.id: .ruby]
        var nextID = 2
        var accessTokens: [String: AccessToken] = [:]
        var refreshTokens: [String: RefreshToken] = [:]
        /// The user id of each code.
        var codes: [String: Int] = [:]
    }

    let lifetime: Int?
    private let clock: MovableClock
    private let state = LockedValue(State())

    init(lifetime: Int?, clock: MovableClock) { (self.lifetime, self.clock) = (lifetime, clock) }

    // MARK: Tokens

    func issue(to userID: Int) throws -> Issued {
        let issued = Issued(accessToken: try OpaqueToken.make(), refreshToken: try OpaqueToken.make())
        let end = lifetime.map(clock.now.adding)
        state.withLock { state in
            state.accessTokens[issued.accessToken] = AccessToken(userID: userID, end: end)
            state.refreshTokens[issued.refreshToken] = RefreshToken(
                userID: userID, accessToken: issued.accessToken)
        }
        return issued
    }

    func makeCode(for userID: Int) throws -> String {
        let code = try OpaqueToken.make()
        state.withLock { $0.codes[code] = userID }
        return code
    }

    /// Uses up a code, and returns its user.
    func spend(code: String) -> Int? { state.withLock { $0.codes.removeValue(forKey: code) } }

    /// Uses up a refresh token, invalidates its access token, and returns its user.
    func spend(refreshToken: String) -> Int? {
        state.withLock { state in
            guard let token = state.refreshTokens.removeValue(forKey: refreshToken) else { return nil }
            state.accessTokens[token.accessToken] = nil
            return token.userID
        }
    }

    func killAccessTokens() { state.withLock { $0.accessTokens = [:] } }

    /// The state of an access token.
    enum TokenState {
        case good(OProUser)
        case expired
        case unknown
    }

    func standing(of accessToken: String) -> TokenState {
        let now = clock.now
        return state.withLock { state in
            guard let token = state.accessTokens[accessToken], let user = state.users[token.userID] else {
                return .unknown
            }
            return token.end.map { $0 > now } ?? true ? .good(user) : .expired
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
            state.accessTokens = state.accessTokens.filter { $0.value.userID != id }
            state.refreshTokens = state.refreshTokens.filter { $0.value.userID != id }
            state.codes = state.codes.filter { $0.value != id }
        }
    }

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
