import AppAuthProtocol
import AppAuthSession
import Foundation

/// A deliberate error in the session's code.
enum Flaw: String, CaseIterable {
    case endsOnAnyError, forgetsToReread, presentsFromMemory, presentsWithoutLock, refreshesAnyway
    case publishesBeforeStored, handsOutFromMemory, ignoresAbsence, ignoresID, ignoresPause, pausesAtOnce
    case blamesEverybody, storesFractions, keepsTheLock, demandsIDTokens
    case storesLate, reservesNoRoom, believesRefusals, forgetsEnds
    /// A database without fencing, and a process that sends although it knows that it has lost the lock.
    case writesLate, sendsWithoutLock

    /// Whether the flaw does harm only if the store loses locks.
    var needsLostLocks: Bool { [.writesLate, .sendsWithoutLock].contains(self) }

    /// The invariant that the flaw breaks and that the simulation has to find; nil if other protections make up for it.
    var breaks: Invariant? {
        switch self {
        case .endsOnAnyError, .forgetsToReread, .storesLate: .sessionKept
        case .presentsFromMemory: .noReuse
        case .presentsWithoutLock, .writesLate, .sendsWithoutLock: .oneRequest
        case .refreshesAnyway: .oneRefresh
        case .publishesBeforeStored: .persistBeforePublish
        case .handsOutFromMemory: .noDeadToken
        case .ignoresAbsence: .noReturn
        case .ignoresID: .noOverwrite
        case .ignoresPause, .pausesAtOnce: .pauses
        case .demandsIDTokens: .withholdsNothing
        case .blamesEverybody: .ownErrors
        case .storesFractions: .readable
        case .forgetsEnds: .noSurprise
        case .keepsTheLock: .healthyAgain
        case .reservesNoRoom, .believesRefusals: nil
        }
    }
}

extension Simulation {
    /// The time that the rules receive.
    var now: Timestamp {
        let timestamp = clock.timestamp(at: world.now)
        guard flaw == .storesFractions else { return timestamp }
        return Timestamp(
            wall: timestamp.wall, sinceBoot: timestamp.sinceBoot + .nanoseconds(123_456), boot: timestamp.boot)
    }

    /// Applies ``SessionRules/apply(_:to:known:at:occurredAt:)``, altered by the flaw.
    func decide(
        _ event: SessionRules.Event, _ stored: inout AuthStateRecord?, _ known: AuthStateRecord,
        at _: Timestamp, occurredAt time: Timestamp?, _ life: Life
    ) -> SessionRules.Decision {
        let (before, now, asked) = (stored, now, event.need)
        var (event, later) = (event, now)
        switch (flaw, event) {
        case (.ignoresAbsence, _): stored = stored ?? known
        case (.ignoresID, _) where stored != nil && stored?.id != known.id: stored = known
        case (.forgetsToReread, .failed) where stored?.id == known.id: stored = known
        case (.refreshesAnyway, .tokenNeeded(var need, .held)):
            (need.isForced, need.seen) = (true, stored?.token(for: need.parameters))
            event = .tokenNeeded(need, .held)
        case (.refreshesAnyway, .tokenNeeded(var need, .unlocked)):
            (need.isForced, need.seen) = (true, stored?.token(for: need.parameters))
            event = .tokenNeeded(need, .unlocked)
        case (.endsOnAnyError, .failed(let attempt, var error, let jitter)):
            (error.code, error.outcome, error.isTemporary) = (.invalidGrant, .refused, false)
            event = .failed(attempt, error, jitter: jitter)
        case (.demandsIDTokens, .completed(let attempt, let response, .unverified(let error), let jitter)):
            event = .completed(attempt, response, idToken: .refused(error), jitter: jitter)
        case (.blamesEverybody, .failed(let attempt, var error, let jitter)) where error.code == "invalid_scope":
            (error.code, error.server) = (.invalidResponse, nil)
            event = .failed(attempt, error, jitter: jitter)
        default: break
        }
        var decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        switch (flaw, event, decision.action) {
        case (.ignoresPause, .tokenNeeded(_, .unlocked), .fail(let error)) where error.isHeldBack,
            (.ignoresPause, .tokenNeeded(_, .held), .fail(let error)) where error.isHeldBack:
            later = Timestamp(wall: now.wall + 200_000, sinceBoot: now.sinceBoot + .seconds(200_000), boot: now.boot)
            stored = before
            decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        case (.believesRefusals, .failed, _) where before?.id == known.id:
            var memory: AuthStateRecord? = known
            let believed = SessionRules.apply(event, to: &memory, known: known, at: later, occurredAt: time)
            if memory?.end != nil { (stored, decision) = (memory, believed) }
        case (.pausesAtOnce, .failed, .fail(let error)) where error.code != .signInRequired:
            decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        default: break
        }
        switch (flaw, event) {
        case (.forgetsEnds, .completed): stored?.announced = AnnouncedEnds()
        case (.storesLate, .received): (stored, decision) = (before, SessionRules.Decision(.done))
        case (.publishesBeforeStored, .received(let attempt, let response)):
            checker.handsOut(response.token, for: attempt.need, server)
        default: break
        }
        life.decided = (decision, event, known.id, time)
        if case .send(let attempt) = decision.action { life.attempt = (attempt, asked ?? attempt.need) }
        // A change that is stored late was checked when it happened.
        if time == nil { checker.decides(decision, event, event.need, known.id, at: now) }
        return decision
    }
}

extension SessionRules.Event {
    /// The requirement of the caller.
    fileprivate var need: SessionRules.TokenRequirement? {
        switch self {
        case .tokenNeeded(let need, .unlocked), .tokenNeeded(let need, .waiting), .tokenNeeded(let need, .held): need
        case .received, .completed, .failed: attempt?.need
        case .signedOut, .registered: nil
        }
    }
}
