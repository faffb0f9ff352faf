internal import AppAuth

/// The session of a proxy. The store is read again if the session has ended, since the user may have signed in, and for a request
/// that comes a second or more after the latest look, since another program may have signed out. A session for something else is
/// not used: its tokens are not for this server.
actor CurrentSession {
    struct Selected: Sendable {
        let options: SessionOptions
        let store: any TokenStore
        var state: AuthState
    }

    /// Nil until somebody has signed in.
    private(set) var selected: Selected?
    private var latestLook = ContinuousClock.now
    private let environment: Environment
    private let select: @Sendable () async throws -> Selected

    /// - Parameter select: Finds the session; throws ``AuthError`` if nobody has signed in.
    init(_ environment: Environment, select: @escaping @Sendable () async throws -> Selected) {
        (self.environment, self.select) = (environment, select)
    }

    func state() async throws -> AuthState {
        guard let selected else {
            let found = try await select()
            if self.selected == nil { self.selected = found }
            return self.selected?.state ?? found.state
        }
        let known = selected.state
        if latestLook.duration(to: .now) >= .seconds(1) {
            latestLook = .now
            // If the store cannot be read, the session stays as it is known.
            try? await known.synchronize()
        }
        let options = selected.options
        guard await !known.isAuthorized,
            let state = try await options.restore(selected.store, of: options.chosenProfile, environment),
            await state.isAuthorized
        else { return known }
        let (former, new) = await (known.record, state.record)
        guard new.profileID == former.profileID, new.client.id == former.client.id,
            new.client.provider.issuer == former.client.provider.issuer, Set(new.resources) == Set(former.resources)
        else { return known }
        self.selected?.state = state
        return state
    }
}
