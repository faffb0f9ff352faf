internal import FoundationEssentials
internal import JOSE

/// The people, codes and tokens of oPRO.
struct OProRecords: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String
    }

    private struct AccessToken {
        let userID: Int
        /// nil for never.
        let end: Date?
    }

    private struct RefreshToken {
        let userID: Int
        /// What it was given out with.
        let accessToken: String
    }

    private struct State {
        var users: [Int: OProUser] = [OProUser.ruby.id: .ruby]
        var nextID = 2
        var accessTokens: [String: AccessToken] = [:]
        var refreshTokens: [String: RefreshToken] = [:]
        /// Whose each is.
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

    /// Whose the code was; it is good for nothing afterwards.
    func spend(code: String) -> Int? { state.withLock { $0.codes.removeValue(forKey: code) } }

    /// Whose the refresh token was; neither it nor the access token beside it is good afterwards.
    func spend(refreshToken: String) -> Int? {
        state.withLock { state in
            guard let token = state.refreshTokens.removeValue(forKey: refreshToken) else { return nil }
            state.accessTokens[token.accessToken] = nil
            return token.userID
        }
    }

    func killAccessTokens() { state.withLock { $0.accessTokens = [:] } }

    /// What is known of an access token.
    enum LockPhase {
        case good(OProUser)
        case expired
        case unknown
    }

    func standing(of accessToken: String) -> LockPhase {
        let now = clock.now
        return state.withLock { state in
            guard let token = state.accessTokens[accessToken], let user = state.users[token.userID] else {
                return .unknown
            }
            return token.end.map { $0 > now } ?? true ? .good(user) : .expired
        }
    }

    // MARK: People

    /// - Parameter name: A username or an email address, or with `isEmail` an email address alone.
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

    /// Somebody new, whose username is the email address.
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
