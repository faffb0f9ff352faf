internal import AppAuth

/// The session of a proxy. The store is read again if the session has ended, since the user may have signed in, and for a request
/// that comes a second or more after the latest look, since another program may have signed out. A session for something else is
/// not used: its tokens are not for this server.
actor CurrentSession {
    private(set) var known: AuthState
    private var latestLook = ContinuousClock.now
    private let restore: @Sendable () async throws -> AuthState?

    init(_ state: AuthState, restore: @escaping @Sendable () async throws -> AuthState?) {
        (known, self.restore) = (state, restore)
    }

    func state() async throws -> AuthState {
        if latestLook.duration(to: .now) >= .seconds(1) {
            latestLook = .now
            // If the store cannot be read, the session stays as it is known.
            try? await known.synchronize()
        }
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
