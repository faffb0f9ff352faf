internal import AppAuth
internal import JOSE

/// Profiles whose provider vouches for the user at other servers: `sign-in login --from`.
extension Profile {
    private static let prefix = "profile:"

    /// The name of the provider's statements about the user of this profile, in the sessions that come from it.
    var assertionName: String { Self.prefix + name }

    /// - Parameter assertionName: The name of an assertion; the path of a file gives nil.
    init?(assertionName: String?) {
        guard let name = assertionName, name.hasPrefix(Self.prefix) else { return nil }
        self.init(argument: String(name.dropFirst(Self.prefix.count)))
    }

    /// Gets a statement about the user, after a refresh of the profile's session if necessary.
    ///
    /// Nothing is requested for a session of an earlier version, which does not say whose it is. Nothing else says it either:
    /// by now, the profile may be another user's.
    func identityAssertion(for demand: AssertionDemand, _ environment: Environment) async throws -> Secret {
        guard demand.user != nil else {
            throw AuthError(
                .signInRequired, .store,
                "the session does not say which user of the profile \(name.foundText) it is for", outcome: .notSent)
        }
        return try await withState(environment) { try await $0.identityAssertion(for: demand) }
    }

    /// Returns the user who is signed in.
    func user(_ environment: Environment) async throws -> AssertionDemand.User {
        try await withState(environment) { state in
            if let known = await state.record.idToken { return .init(known) }
            return .init(try await state.freshIDToken())
        }
    }

    private func withState<Value: Sendable>(
        _ environment: Environment, _ work: (AuthState) async throws -> Value
    ) async throws -> Value {
        try checkIsKnown()
        let store = try store
        guard let state = try await StateFolder.restore(store, environment) else {
            throw AuthError(
                .signInRequired, .store, "the profile \(name.foundText) is not signed in", outcome: .notSent)
        }
        try requireSession(await state.record, in: store)
        do {
            let value = try await work(state)
            if await state.hasUnsavedTokens { await state.settle() }
            return value
        } catch {
            // The provider may have replaced the refresh token of this session already.
            await state.settle()
            guard var named = error as? AuthError else { throw error }
            named.message = "the profile \(name.foundText): \(named.message)"
            throw named
        }
    }

    /// Returns the stored sessions that come from this profile's.
    func sessionsFromIt(within limit: Duration) async throws -> [StateFolder.Entry] {
        let stores = try StateFolder.storesWithProfiles().map { ($0.store.within(limit), $0.profile) }
        return try await StateFolder.entries(stores).filter { entry in
            (try? entry.record.get())?.grant?.assertionName == assertionName
        }
    }
}

extension AuthStateRecord {
    /// The profile that this session comes from; nil if the user signed in to it.
    var source: Profile? { Profile(assertionName: grant?.assertionName) }

    /// The line that signs in to the source, without which this session cannot go on; nil if there is none, or if it is not
    /// known to be this session's user's. Then only a new sign-in from there helps.
    var signInToSource: SignInLine? {
        get async {
            guard let source, let user = grant?.assertionUser else { return nil }
            let store = try? source.likelyStore.within(.seconds(5))
            let found = try? await StateFolder.entries(store.map { [($0, source)] } ?? []).first?.record.get()
            if let token = found?.idToken, user != .init(token) { return nil }
            return SignInLine([SignInLine.commands[0], "--profile", source.name])
        }
    }
}
