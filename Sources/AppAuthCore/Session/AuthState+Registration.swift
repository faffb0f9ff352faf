internal import JOSE

extension AuthState {
    /// Reads the client's registration as it stands at the provider (RFC 7592 §2.1), and stores what has changed: a
    /// registration access token is often good once.
    ///
    /// Others who share the session wait for each other here, in whatever process they are, and each goes on from what
    /// the one before has stored.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the client was not registered by
    ///   ``ClientRegistrationRequest``; as ``ClientRegistration/read(in:)``; ``AuthError/Code/store``.
    @discardableResult
    public func registration() async throws -> ClientRegistration {
        try await changeRegistration { [environment] in try await $0.read(in: environment) }
    }

    /// Changes what is registered (RFC 7592 §2.2), and stores what the provider made of it.
    ///
    /// - Parameter change: Alters the metadata; see ``ClientRegistration/update(in:_:)``.
    /// - Throws: As ``registration()``, and as ``ClientRegistration/update(in:_:)``.
    @discardableResult
    public func updateRegistration(
        _ change: @escaping @Sendable (inout ClientMetadata) throws -> Void
    ) async throws -> ClientRegistration {
        try await changeRegistration { [environment] in try await $0.update(in: environment, change) }
    }

    /// Deletes the client at the provider (RFC 7592 §2.3), and the session with it, which is of no use any more.
    ///
    /// - Throws: As ``registration()``. The session stays then.
    public func deleteRegistration() async throws {
        _ = try await withRegistration { [environment] in try await $0.delete(in: environment) }
        try await forget()
    }

    private func changeRegistration(
        _ change: @Sendable (ClientRegistration) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        try await withRegistration { registration in
            let new = try await change(registration)
            let client = try record.client.registered(as: new)
            // Known here first: if the store refuses it now, it goes there with the next change.
            record.client = client
            verification.client = client
            let id = record.id
            try await store.attempt { [store, client] in
                try await store.update { stored in
                    guard stored?.id == id, stored?.move == nil else { return }
                    stored?.client = client
                }
            }
            return new
        }
    }

    /// Works with the latest registration, one at a time: under the lock of the session, since two who present the same
    /// token would lose it.
    private func withRegistration<Value: Sendable>(
        _ work: (ClientRegistration) async throws -> Value
    ) async throws -> Value {
        let turn = try await turns.wait()
        defer { turn.release() }
        try await storeUnsaved()
        let lock = try await store.attempt { [store] in try await store.refreshLock() }
        defer { lock.release() }
        await synchronise()
        guard let registration = record.client.registration else {
            throw AuthError(
                .invalidConfiguration, .registration,
                "expected a client that was registered here, found one that was not", outcome: .notSent)
        }
        return try await work(registration)
    }
}
