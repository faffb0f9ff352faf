internal import AppAuth

/// The session of a proxy. If it has ended, the store is read again, since the user may have signed in. A session for something
/// else is not used: its tokens are not for this server.
actor CurrentSession {
    private(set) var known: AuthState
    private let restore: @Sendable () async throws -> AuthState?

    init(_ state: AuthState, restore: @escaping @Sendable () async throws -> AuthState?) {
        (known, self.restore) = (state, restore)
    }

    func state() async throws -> AuthState {
        guard await !known.isAuthorized, let state = try await restore(), await state.isAuthorized else { return known }
        let (former, new) = await (known.record, state.record)
        if new.profileID == former.profileID, new.client.id == former.client.id,
            new.client.provider.issuer == former.client.provider.issuer, Set(new.resources) == Set(former.resources)
        {
            known = state
        }
        return known
    }
}
