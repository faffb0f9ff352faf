import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import TestFixtures
import Testing

/// Sequences of inputs that a store and two processes can hardly reproduce.
struct SessionMachineTests {
    /// Executes a change of the store, as ``AuthState`` does.
    private func execute(
        _ effects: [SessionMachine.Effect], on stored: inout AuthStateRecord?, at now: Timestamp
    ) throws -> SessionMachine.StoreResult {
        for case .call(let call) in effects {
            guard case .update(let event, let known, let time) = call.work else { return .loaded(stored) }
            let decision = SessionRules.apply(event, to: &stored, known: known, at: now, occurredAt: time)
            return .updated(decision, stored)
        }
        throw AuthError(.store, .store, "expected a call of the store, found none")
    }

    private func revoked(_ effects: [SessionMachine.Effect]) -> [Secret] {
        effects.flatMap { effect -> [Secret] in
            if case .revoke(let tokens) = effect { tokens.map(\.value) } else { [] }
        }
    }

    /// A response arrives, and the app signs out while it is stored.
    ///
    /// - Parameter successor: The session that another process has stored meanwhile.
    /// - Returns: The revoked tokens, and those of the response.
    private func signOutWhileStoring(
        _ record: AuthStateRecord, _ successor: AuthStateRecord?, _ response: TokenResponse, at now: Timestamp
    ) throws -> (revoked: [Secret], response: [Secret]) {
        var machine = SessionMachine(
            record: record, wasStored: true, location: "test", patience: LockPatience(), now: now)
        var stored: AuthStateRecord? = record
        var need = SessionRules.TokenRequirement(began: now)
        (need.isForced, need.seen) = (true, record.accessToken)
        let read = try execute(machine.handle(.begin(1, .token(need)), at: now), on: &stored, at: now)
        _ = machine.handle(.storeReturned(.success(read)), at: now)
        let marked = try execute(machine.handle(.locked(1, nil), at: now), on: &stored, at: now)
        _ = machine.handle(.storeReturned(.success(marked)), at: now)
        if let successor { stored = successor }
        let result = try execute(
            machine.handle(.responded(1, .success(response), jitter: 0), at: now), on: &stored, at: now)
        _ = machine.handle(.begin(2, .signOut(reason: "the user signed out")), at: now)
        let effects = machine.handle(.storeReturned(.success(result)), at: now)
        return (revoked(effects), [response.refreshToken, response.accessToken].compactMap(\.self))
    }

    @Test func `tokens that arrive during a sign-out are revoked, unless the same user has signed in again`()
        async throws
    {
        try await World.run { world in
            let record = await (try world.signIn(store: TestStore())).record
            let successor = await (try world.signIn(store: TestStore())).record
            world.provider.fault(.editDocument { $0["id_token"] = nil }, at: .token)
            let response = try await TokenEndpoint(client: record.client, environment: world.environment)
                .send(.refresh(try #require(record.refreshToken)), stage: .refresh)
            let now = world.environment.now()
            let alone = try signOutWhileStoring(record, nil, response, at: now)
            #expect(alone.revoked == alone.response && alone.revoked.count == 2)
            // At several providers that would end the new grant.
            #expect(try signOutWhileStoring(record, successor, response, at: now).revoked.isEmpty)
        }
    }

    /// The owner of the lock may be about to change the registration once more.
    @Test func `a change of the registration keeps its lock until its work is done, even if the user signs out`()
        async throws
    {
        try await World.run { world in
            let record = await (try world.signIn(store: TestStore())).record
            let now = world.environment.now()
            var machine = SessionMachine(
                record: record, wasStored: true, location: "test", patience: LockPatience(), now: now)
            func unlocks(_ effects: [SessionMachine.Effect]) -> Int {
                effects.count { if case .unlock(1) = $0 { true } else { false } }
            }
            let refusal = AuthError(.store, .store, "the disk is full")
            _ = machine.handle(.begin(1, .registration), at: now)
            _ = machine.handle(.locked(1, nil), at: now)
            _ = machine.handle(.storeReturned(.success(.loaded(record))), at: now)
            _ = machine.handle(.registered(1, record.client), at: now)
            _ = machine.handle(.storeReturned(.failure(refusal)), at: now)
            #expect(machine.hasUnsavedTokens)
            #expect(unlocks(machine.handle(.begin(2, .signOut(reason: "the user signed out")), at: now)) == 0)
            #expect(unlocks(machine.handle(.workDone(1), at: now)) == 1)
        }
    }
}
