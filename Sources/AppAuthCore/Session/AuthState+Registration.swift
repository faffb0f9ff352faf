internal import JOSE

extension AuthState {
    /// Reads the client's registration as it stands at the provider (RFC 7592 §2.1), and stores what has changed: a
    /// registration access token is often good once.
    ///
    /// Others who share the session wait for each other here, in whatever process they are, and each goes on from what
    /// the one before has stored.
    ///
    /// - Parameter name: The name by which ``Environment/clientKey`` finds the key, if the client is registered with one
    ///   since; nil stands for the name that the client has.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the client was not registered by
    ///   ``ClientRegistrationRequest``; as ``ClientRegistration/read(in:)``; ``AuthError/Code/store``; what
    ///   ``ClientRegistration/client(at:keyNamed:)`` says of a method by which this client cannot authenticate: then the
    ///   registration is stored all the same, and the client authenticates as before.
    @discardableResult
    public func registration(keyNamed name: String? = nil) async throws -> ClientRegistration {
        try await changeRegistration(keyNamed: name) { [environment] in try await $0.read(in: environment) }
    }

    /// Changes what is registered (RFC 7592 §2.2), and stores what the provider made of it.
    ///
    /// - Parameters:
    ///   - name: The name by which ``Environment/clientKey`` finds the key, for a client that is to authenticate by one from
    ///     now on; nil stands for the name that the client has.
    ///   - change: Alters the metadata; see ``ClientRegistration/update(in:_:)``.
    /// - Throws: As ``registration(keyNamed:)``, and as ``ClientRegistration/update(in:_:)``.
    @discardableResult
    public func updateRegistration(
        keyNamed name: String? = nil, _ change: @escaping @Sendable (inout ClientMetadata) throws -> Void
    ) async throws -> ClientRegistration {
        try await changeRegistration(keyNamed: name) { [environment] in try await $0.update(in: environment, change) }
    }

    /// Deletes the client at the provider (RFC 7592 §2.3), and the session with it, which is of no use any more.
    ///
    /// - Throws: As ``registration(keyNamed:)``. The session stays then.
    public func deleteRegistration() async throws {
        _ = try await withRegistration { [environment] in try await $0.delete(in: environment) }
        try await forget()
    }

    private func changeRegistration(
        keyNamed name: String?, _ change: @Sendable (ClientRegistration) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        try await withRegistration { registration in
            let new = try await change(registration)
            let registered = Result { try record.client.registered(as: new, keyNamed: name) }
            // The token before this one is dead by now (RFC 7592 §2.1, §2.2): the new one is stored in any case.
            var client = record.client
            client.registration = new
            if case .success(let known) = registered { client = known }
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
            do { _ = try registered.get() } catch var error as AuthError {
                error.outcome = .perhapsProcessed
                throw error
            }
            return new
        }
    }

    /// Works with the latest registration, one at a time: under the lock of the session, since two who present the same
    /// token would lose it.
    private func withRegistration<Value: Sendable>(
        _ work: (ClientRegistration) async throws -> Value
    ) async throws -> Value {
        guard case .held(let lock, let turn) = try await turn(orElse: { SessionRules.Decision(.waitForLock) }) else {
            throw CancellationError()
        }
        defer { turn.release() }
        defer { lock.release() }
        await synchronise()
        guard let registration = record.client.registration else {
            throw AuthError(
                .invalidConfiguration, .registration,
                "expected a client that was registered here, found one that was not", outcome: .notSent)
        }
        // It may be stored since before this was checked when it came.
        if let url = registration.configurationEndpoint {
            try record.client.provider.allow(url, as: "registration_client_uri")
        }
        return try await work(registration)
    }
}
