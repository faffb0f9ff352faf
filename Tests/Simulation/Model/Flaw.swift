import AppAuthProtocol
import AppAuthSession
import Foundation

/// A deliberate error in the session's code.
enum Flaw: String, CaseIterable {
    case endsOnAnyError, forgetsToReread, presentsFromMemory, presentsWithoutLock, refreshesAnyway
    case publishesBeforeStored, handsOutFromMemory, ignoresAbsence, ignoresID, ignoresPause, pausesAtOnce
    case blamesEverybody, storesFractions, keepsTheLock, movesWithoutMark, movesNothing, leavesWhatIsNew
    case storesLate, leavesNoMark, believesRefusals
    /// A database without fencing, and a process that sends although it knows that it has lost the lock.
    case writesLate, sendsWithoutLock
    /// A refresh that takes a session for signed out although it may have been moved while the lock was lost.
    case revokesMoved

    /// Whether the flaw does harm only if the store loses locks.
    var needsLostLocks: Bool { [.writesLate, .sendsWithoutLock, .revokesMoved].contains(self) }

    /// The invariant that the flaw breaks and that the simulation has to find; nil if other protections make up for it.
    var breaks: Invariant? {
        switch self {
        case .endsOnAnyError, .forgetsToReread, .movesNothing, .leavesWhatIsNew, .storesLate, .revokesMoved:
            .sessionKept
        case .presentsFromMemory: .noReuse
        case .presentsWithoutLock, .writesLate, .sendsWithoutLock: .oneRequest
        case .refreshesAnyway: .oneRefresh
        case .publishesBeforeStored: .persistBeforePublish
        case .handsOutFromMemory: .noDeadToken
        case .ignoresAbsence: .noReturn
        case .ignoresID: .noOverwrite
        case .ignoresPause, .pausesAtOnce: .pauses
        case .blamesEverybody: .ownErrors
        case .storesFractions: .readable
        case .keepsTheLock: .healthyAgain
        case .movesWithoutMark: .onePlace
        case .leavesNoMark, .believesRefusals: nil
        }
    }
}

extension Simulation {
    /// The time that the rules receive.
    var now: Timestamp {
        let timestamp = clock.timestamp
        guard flaw == .storesFractions else { return timestamp }
        return Timestamp(
            wall: timestamp.wall, sinceBoot: timestamp.sinceBoot + .nanoseconds(123_456), boot: timestamp.boot)
    }

    /// Applies ``SessionRules/apply(_:to:known:at:occurredAt:)``, altered by the flaw.
    func decide(
        _ event: SessionRules.Event, _ stored: inout AuthStateRecord?, _ known: SessionRules.Knowledge,
        at now: Timestamp, occurredAt time: Timestamp?
    ) -> SessionRules.Decision {
        let before = stored
        var (event, known, later) = (event, known, now)
        switch (flaw, event) {
        case (.ignoresAbsence, _): known = .init(record: known.record, wasStored: false)
        case (.ignoresID, _) where stored != nil && stored?.id != known.record.id: stored = known.record
        case (.presentsFromMemory, .tokenNeeded(_, .unlocked)) where stored?.id == known.record.id,
            (.presentsFromMemory, .tokenNeeded(_, .held)) where stored?.id == known.record.id:
            stored = known.record
        case (.forgetsToReread, .failed) where stored?.id == known.record.id: stored = known.record
        case (.refreshesAnyway, .tokenNeeded(var need, .held)):
            (need.isForced, need.seen) = (true, stored?.token(for: need.parameters))
            event = .tokenNeeded(need, .held)
        case (.refreshesAnyway, .tokenNeeded(var need, .unlocked)):
            (need.isForced, need.seen) = (true, stored?.token(for: need.parameters))
            event = .tokenNeeded(need, .unlocked)
        default: break
        }
        var decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        switch (flaw, event, decision.action) {
        case (.ignoresPause, .tokenNeeded(_, .unlocked), .fail(let error)) where error.isHeldBack,
            (.ignoresPause, .tokenNeeded(_, .held), .fail(let error)) where error.isHeldBack:
            later = Timestamp(wall: now.wall + 200_000, sinceBoot: now.sinceBoot + .seconds(200_000), boot: now.boot)
            stored = before
            decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        case (.leavesNoMark, .tokenNeeded(_, .held), _): stored?.pendingRefresh = nil
        case (.believesRefusals, .failed, _) where before?.id == known.record.id:
            var memory: AuthStateRecord? = known.record
            let believed = SessionRules.apply(event, to: &memory, known: known, at: later, occurredAt: time)
            if memory?.end != nil { (stored, decision) = (memory, believed) }
        case (.pausesAtOnce, .failed, .fail(let error)) where error.code != .signInRequired:
            decision = SessionRules.apply(event, to: &stored, known: known, at: later, occurredAt: time)
        default: break
        }
        // A change that is stored late was checked when it happened.
        if time == nil { checker.decides(decision, event, event.need, known.record.id, at: now) }
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
