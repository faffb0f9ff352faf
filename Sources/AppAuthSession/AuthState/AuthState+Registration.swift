internal import AppAuthConcurrency
public import AppAuthProtocol
internal import JOSE

extension AuthState {
    /// Reads the client's registration from the provider (RFC 7592 §2.1) and stores what has changed: a registration
    /// access token is often good once.
    ///
    /// Callers that share the session wait for each other, even in different processes, and each continues from what
    /// the previous one has stored. If the caller is cancelled, a request that was sent is still completed and its
    /// result stored, since the provider has invalidated the previous token. ``settle(atMost:)`` waits for it. If the
    /// store rejects the registration, the error is ``AuthError/Code/store``, the registration stays in memory, and it
    /// is stored again after a while or with the next call.
    ///
    /// - Parameter name: The name by which ``Environment/clientKey`` finds the key, if the client has been registered
    ///   with one since; nil for the client's current name.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the client was not registered by
    ///   ``ClientRegistrationRequest``; the errors of ``ClientRegistration/read(in:)``; ``AuthError/Code/store``; the
    ///   error of ``ClientRegistration/client(at:keyNamed:)`` for a method by which this client cannot authenticate:
    ///   then the registration is stored all the same, and the client authenticates as before.
    @discardableResult
    public func registration(keyNamed name: String? = nil) async throws -> ClientRegistration {
        try await changeRegistration(keyNamed: name) { [environment] in try await $0.read(in: environment) }
    }

    /// Changes the client's registration (RFC 7592 §2.2) and stores it as the provider has accepted it.
    ///
    /// - Parameters:
    ///   - name: The name by which ``Environment/clientKey`` finds the key, for a client that authenticates with a key
    ///     from now on; nil for the client's current name.
    ///   - change: Alters the metadata; see ``ClientRegistration/update(in:_:)``.
    /// - Throws: The errors of ``registration(keyNamed:)`` and of ``ClientRegistration/update(in:_:)``.
    @discardableResult
    public func updateRegistration(
        keyNamed name: String? = nil, _ change: @escaping @Sendable (inout ClientMetadata) throws -> Void
    ) async throws -> ClientRegistration {
        try await changeRegistration(keyNamed: name) { [environment] in try await $0.update(in: environment, change) }
    }

    /// Deletes the client at the provider (RFC 7592 §2.3), and with it the session, which is of no use any more.
    ///
    /// - Throws: The errors of ``registration(keyNamed:)``, after which the session stays, and of ``signOut(revokingTokens:)``.
    public func deleteRegistration() async throws {
        _ = try await withRegistration { [self] registration, _ in
            try await registration.delete(in: environment)
            try await forget()
            return registration
        }
    }

    private func changeRegistration(
        keyNamed name: String?, _ change: @escaping @Sendable (ClientRegistration) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        try await withRegistration { [self] registration, lock in
            try await store(change(registration), keyNamed: name, under: lock)
        }
    }

    private func store(
        _ new: ClientRegistration, keyNamed name: String?, under lock: RefreshLock
    ) async throws -> ClientRegistration {
        let registered = Result { try record.client.registered(as: new, keyNamed: name) }
        // The previous token is invalid by now (RFC 7592 §2.1, §2.2), so the new one is stored in any case.
        var client = record.client
        client.registration = new
        if case .success(let known) = registered { client = known }
        // No earlier read is newer than this.
        record.client = client
        try await storeRegistration(client, under: lock)
        do { _ = try registered.get() } catch var error as AuthError {
            error.outcome = .perhapsProcessed
            throw error
        }
        return new
    }

    /// Runs `work` with the latest registration under the session's lock: two requests with the same token would lose
    /// it. A caller that is cancelled leaves at once, and the work goes on.
    private func withRegistration(
        _ work: @escaping @Sendable (ClientRegistration, RefreshLock) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        let held = try await lock(within: environment.lockPatience.limit)
        try await readForChange()
        let flight = SingleFlight<ClientRegistration>()
        registering = flight
        return try await flight.run { [self] in
            defer { withExtendedLifetime(held) {} }
            guard let registration = await record.client.registration else {
                throw AuthError(
                    .invalidConfiguration, .registration, "expected a dynamically registered client, found another")
            }
            // The URL may have been stored before URLs were checked on arrival.
            if let url = registration.configurationEndpoint {
                try await record.client.provider.allow(url, as: "registration_client_uri")
            }
            return try await work(registration, held.lock)
        }
    }
}
