import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing

@testable import SessionSimulation

/// A machine with a store that responds when the test says so.
struct SessionMachineBench {
    var machine: SessionMachine
    var stored: AuthStateRecord?
    var isRefusing = false
    private(set) var effects: [SessionMachine.Effect] = []
    private(set) var call: SessionMachine.StoreCall?
    let now = Timestamp(wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(1000), boot: "boot")

    init(_ record: AuthStateRecord, wasStored: Bool = true) {
        machine = SessionMachine(
            record: record, wasStored: wasStored, location: "here", patience: LockPatience(), now: now)
        stored = wasStored ? record : nil
    }

    mutating func take(_ input: SessionMachine.Input) {
        for effect in machine.handle(input, at: now) {
            if case .call(let next) = effect { call = next } else { effects.append(effect) }
        }
    }

    /// The store makes the call that it was asked for.
    mutating func respond() throws {
        let next = try #require(call)
        call = nil
        guard !isRefusing else {
            return take(.storeReturned(.failure(AuthError(.store, .store, "the disk is full"))))
        }
        guard case .update(let event, let known, let time) = next.work else {
            return take(.storeReturned(.success(.loaded(stored))))
        }
        do {
            let decision =
                try SessionRules.duringMove(event, stored, at: "here")
                ?? SessionRules.apply(event, to: &stored, known: known, at: now, occurredAt: time)
            take(.storeReturned(.success(.updated(decision, stored))))
        } catch { take(.storeReturned(.failure(error))) }
    }

    /// A refresh, up to the response.
    mutating func send(_ id: SessionMachine.ID) throws {
        var need = SessionRules.TokenRequirement(began: now)
        (need.isForced, need.seen) = (true, machine.record.token(for: .session))
        take(.begin(id, .token(need)))
        try respond()
        take(.locked(id, nil))
        try respond()
        try #require(effects.contains { if case .send(id, _) = $0 { true } else { false } })
    }

    mutating func respond(_ id: SessionMachine.ID, refreshToken: String? = nil, idToken: String? = nil) {
        let response = TokenResponse(
            accessToken: Secret("new"), lifetime: .seconds(3600), refreshToken: refreshToken.map(Secret.init),
            idToken: idToken.map(Simulation.idToken), received: now)
        take(.responded(id, .success(response), jitter: 0))
    }

    func outcomes(of id: SessionMachine.ID) -> [Result<SessionMachine.Outcome, any Error>] {
        effects.compactMap { effect in
            switch effect {
            case .finish(id, let result), .finishAfterRevocations(id, let result): result
            default: nil
            }
        }
    }

    var revoked: [String] {
        effects.flatMap { effect -> [String] in
            if case .revoke(let tokens) = effect { tokens.map { $0.value.reveal() } } else { [] }
        }
    }

    /// The timers for unsaved changes, by their numbers.
    var retries: [Int] { effects.compactMap { if case .retry(let number, _) = $0 { number } else { nil } } }

    /// How often observers are told that the store has rejected a change.
    var reportedFailures: Int {
        effects.count { if case .publish(.storeFailed) = $0 { true } else { false } }
    }

    /// How often the machine has begun to wait for an operation.
    func waits(of id: SessionMachine.ID) -> Int {
        effects.count { if case .wait(id, _) = $0 { true } else { false } }
    }

    var unlocked: [SessionMachine.ID] { effects.compactMap { if case .unlock(let id) = $0 { id } else { nil } } }
}
