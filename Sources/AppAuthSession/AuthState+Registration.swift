public import AppAuthProtocol
internal import JOSE

extension AuthState {
    /// Reads the client's registration as it stands at the provider (RFC 7592 §2.1), and stores what has changed: a
    /// registration access token is often good once.
    ///
    /// Others who share the session wait for each other here, in whatever process they are, and each goes on from what
    /// the one before has stored. What was sent is finished and stored even if the caller is cancelled, since the provider
    /// has taken back the token before; ``settle(atMost:)`` waits for it. If the store refuses, the error is
    /// ``AuthError/Code/store``, the registration stays in memory, and it is stored again after a while or with the next
    /// call.
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
        _ = try await withRegistration { [self] registration, _ in
            try await registration.delete(in: environment)
            try await forget()
            return registration
        }
    }

    private func changeRegistration(
        keyNamed name: String?, _ change: @escaping @Sendable (ClientRegistration) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        try await withRegistration { [self] registration, id in
            try await store(change(registration), keyNamed: name, in: id)
        }
    }

    private func store(
        _ new: ClientRegistration, keyNamed name: String?, in id: SessionMachine.ID
    ) async throws -> ClientRegistration {
        let registered = Result { try record.client.registered(as: new, keyNamed: name) }
        // The token before this one is dead by now (RFC 7592 §2.1, §2.2): the new one is stored in any case.
        var client = record.client
        client.registration = new
        if case .success(let known) = registered { client = known }
        _ = try await outcome(of: id) { take(.registered(id, client)) }
        do { _ = try registered.get() } catch var error as AuthError {
            error.outcome = .perhapsProcessed
            throw error
        }
        return new
    }

    /// Works with the latest registration, one at a time: under the lock of the session, since two who send the same token
    /// would lose it. A caller that is cancelled leaves at once, and the work goes on.
    private func withRegistration(
        _ work: @escaping @Sendable (ClientRegistration, SessionMachine.ID) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        let id = newID()
        _ = try await withTaskCancellationHandler {
            try await outcome(of: id) { take(.begin(id, .registration)) }
        } onCancel: {
            Task { await self.take(.leave(id)) }
        }
        let flight = SingleFlight<ClientRegistration>()
        registering = flight
        do { return try await flight.run { [self] in try await finish(id, work) } } catch {
            // A caller that is cancelled before the work has begun.
            if flight.running == nil { take(.end(id)) }
            throw error
        }
    }

    private func finish(
        _ id: SessionMachine.ID,
        _ work: @Sendable (ClientRegistration, SessionMachine.ID) async throws -> ClientRegistration
    ) async throws -> ClientRegistration {
        defer { take(.end(id)) }
        guard let registration = record.client.registration else {
            throw AuthError(
                .invalidConfiguration, .registration,
                "expected a client that was registered here, found one that was not", outcome: .notSent)
        }
        // It may be stored since before this was checked when it came.
        if let url = registration.configurationEndpoint {
            try record.client.provider.allow(url, as: "registration_client_uri")
        }
        return try await work(registration, id)
    }
}

extension SessionRules {
    /// A session that has ended keeps its registration, too.
    static func register(_ client: Client, _ stored: inout AuthStateRecord?, _ known: Knowledge) -> Decision {
        if let theirs = stored, theirs.id == known.record.id {
            stored?.change(client.unless(registeredLater: theirs.client))
        }
        return Decision(.done)
    }
}
