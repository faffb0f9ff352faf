import AppAuthProtocol
import AppAuthSession
import FoundationEssentials

/// An observer of everything in a run, which checks the invariants with its own arithmetic.
final class InvariantChecker {
    /// The counts of a run.
    struct Tally {
        var calls = 0
        var tokens = 0
        var requests = 0
        var refreshes = 0
        /// Sessions that the provider's side or the user ended.
        var revoked = 0
        /// Sessions that the provider ended when it had announced it.
        var announced = 0
        /// How often a program that looked at the session would have told the user of that end.
        var warnings = 0
        /// Sessions whose newest refresh token was lost with a response or a process, at a server without enough grace.
        var unavoidable = 0
        /// Sessions that a foreign ID token ended.
        var foreign = 0
        /// How often an idle process kept the others from refreshing after the faults had ended.
        var stalls = 0
        /// Callers that rejected their token and got it again from a refresh that other callers had begun.
        var refusedAgain = 0
        /// Refresh tokens that were sent by a process that had lost the lock, and could not know it.
        var late = 0
        var faults = 0
        /// How often each invariant was violated, in a run that continues after a violation.
        var violations: [Invariant: Int] = [:]
        var examples: [String] = []
    }

    private struct Failure {
        var count: Int
        var at: Timestamp
        var retryAfter: Int
        /// Whether a success came later.
        var isOver = false

        /// The pause in seconds, without jitter.
        var shortest: Double {
            max(Double(retryAfter), [0, 0, 1, 2, 4, 8, 16, 32].dropFirst(count).first ?? 48)
        }
    }

    var tally = Tally()
    private(set) var violation: Violation?
    /// The only invariant to check, while a failure is shrunk or the simulation is tested; nil for all.
    private let watched: Invariant?
    private var storedTokens: Set<Secret> = []
    private var received: [Secret: Timestamp] = [:]
    /// The refresh token that came with an access token.
    private var companions: [Secret: String] = [:]
    private var superseded: Set<String> = []
    /// Sessions that the user has signed out of in some process, whether or not the store has recorded it.
    var signedOut: Set<String> = []
    /// Sessions that ended while the store could not record it.
    var endedInMemory: Set<String> = []
    private var gone: Set<String> = []
    private var failures: [String: Failure] = [:]
    private var writes = 0

    /// Whether a run continues after a violation.
    private let isCounting: Bool
    private var seen: Set<String> = []

    init(watching watched: Invariant?, isCounting: Bool) { (self.watched, self.isCounting) = (watched, isCounting) }

    func require(_ isTrue: Bool, _ invariant: Invariant, _ what: @autoclosure () -> String) {
        if isCounting {
            // The same may be seen at each step that follows.
            guard !isTrue, case let what = what(), seen.insert(what).inserted else { return }
            tally.violations[invariant, default: 0] += 1
            tally.examples.append("\(invariant.rawValue): \(what)")
            return
        }
        guard !isTrue, violation == nil, watched == nil || watched == invariant else { return }
        violation = Violation(invariant: invariant, what: what())
    }

    // MARK: - Observations

    func receives(_ token: Secret, with refreshToken: String?, at now: Timestamp) {
        received[token] = now
        companions[token] = refreshToken
    }

    /// Checks a change of the store.
    func stores(
        _ old: AuthStateRecord?, _ new: AuthStateRecord?, by event: SessionRules.Event?, _ server: SimulatedServer
    ) {
        checkReadable(new)
        if let event {
            require(
                old == nil || new == nil || old?.id == new?.id, .noOverwrite,
                "a session of an earlier sign-in took the place of the newer one")
            require(old != nil || new == nil, .noReturn, "a session came to be without a sign-in")
            require(old?.id != new?.id || old?.end == nil || new?.end != nil, .noReturn, "an ended session continues")
            require(!(new.map { gone.contains($0.id) } ?? false), .noReturn, "a removed session is there again")
            if let old, let new, old.end == nil, new.end != nil { checkEnd(of: old, by: event, server) }
        }
        if let old, old.id != new?.id { gone.insert(old.id) }
        if let token = new?.refreshToken?.reveal() { server.fates[token] = .stored }
        if let used = old?.refreshToken?.reveal(), let new, old?.id == new.id, used != new.refreshToken?.reveal() {
            superseded.insert(used)
        }
        for kind in CallKind.allCases { (new?.token(for: kind.parameters)?.value).map { _ = storedTokens.insert($0) } }
    }

    private func checkReadable(_ new: AuthStateRecord?) {
        writes += 1
        // Not on every write, since this takes as long as everything else.
        guard let new, writes % 4 == 1 else { return }
        let read = try? AuthStateRecord(decoding: new.encoded(), from: "the store")
        require(read == new, .readable, "what is read differs from what was written")
    }

    private func checkEnd(of record: AuthStateRecord, by event: SessionRules.Event, _ server: SimulatedServer) {
        if case .completed(_, _, .refused(let error), _) = event, error.isForeign {
            tally.foreign += 1
            return
        }
        switch record.refreshToken.flatMap({ server.grant(of: $0.reveal()) })?.end {
        case nil: require(false, .sessionKept, "it was ended, and the server honours it")
        case .revoked: tally.revoked += 1
        case .announced: tally.announced += 1
        case .reuse(excused: true): tally.unavoidable += 1
        case .reuse(excused: false):
            require(false, .sessionKept, "a used refresh token came back, and a process had its successor")
        }
    }

    /// Checks a decision of the rules.
    func decides(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ need: SessionRules.TokenRequirement?,
        _ id: String,
        at now: Timestamp
    ) {
        guard let need else { return }
        switch decision.action {
        case .handOut(let token): requireLife(of: token, at: now)
        case .fail(let error) where error.isHeldBack:
            // The response to a holder that had lost its lock may end a pause. A caller without the lock may have read the
            // store before that.
            let failure = failures[id].flatMap { $0.isOver && event.isUnderLock ? nil : $0 }
            let longest = failure.map { max(Double($0.retryAfter), min(60, $0.shortest * 1.25)) } ?? 0
            let isInside = failure.map { $0.at.boot != now.boot || elapsed($0.at, now) < longest } ?? false
            require(isInside, .pauses, "a caller was held back, after \(failure?.count ?? 0) failures in a row")
            fallthrough
        case .fail(let error):
            require(
                !error.message.contains("invalid_scope") || need.parameters == CallKind.ungranted.parameters,
                .ownErrors,
                "a caller got \(error.code.rawValue), and had asked for no scope")
        default: break
        }
    }

    /// Counts a failed or successful refresh that is in the store.
    func counts(_ event: SessionRules.Event, _ action: SessionRules.Action, _ id: String, at now: Timestamp) {
        switch (event, action) {
        case (_, .fail(let reported)) where reported.code == .signInRequired: break
        case (.failed, .decideAgain): break
        // The next refresh of the session's own tokens shows whether the error concerned only one caller's parameters.
        case (.failed(let attempt, let error, _), _)
        where attempt.need.parameters != .session && error.code == .invalidGrant && !error.isTemporary: break
        case (.failed(_, let error, _), _) where !error.message.contains("invalid_scope"): fail(error, id, now)
        // The store accepted the tokens late.
        case (.completed, .fail(let error)) where error.code == .store: failures[id]?.isOver = true
        // The rejected parameters were one caller's. The session's own refresh succeeded.
        case (.completed, .fail(let error)) where error.message.contains("invalid_scope"):
            failures[id]?.isOver = true
        case (.completed(_, _, .refused(let error), _), _), (.completed, .fail(let error)): fail(error, id, now)
        case (.completed, _): failures[id]?.isOver = true
        default: break
        }
    }

    private func fail(_ error: AuthError, _ id: String, _ now: Timestamp) {
        // A server may ask for a longer pause, but gets five minutes at most.
        let retryAfter = min(error.retryAfter ?? 0, 300)
        let count = failures[id].map { $0.isOver ? 0 : $0.count } ?? 0
        failures[id] = Failure(count: count + 1, at: now, retryAfter: retryAfter)
    }

    private func elapsed(_ begin: Timestamp, _ end: Timestamp) -> Double { (end.sinceBoot - begin.sinceBoot).seconds }

    /// Checks a refresh token that is about to be sent.
    ///
    /// - Parameter isLate: Whether the sender has lost the lock since it marked the token, and cannot know it.
    func sends(
        _ attempt: SessionRules.Attempt, for need: SessionRules.TokenRequirement, of id: String, beside others: Int,
        _ store: AuthStateRecord?, isLate: Bool, at now: Timestamp
    ) {
        tally.requests += 1
        guard !isLate else { return tally.late += 1 }
        require(
            !superseded.contains(attempt.refreshToken?.reveal() ?? ""), .noReuse,
            "\(attempt.refreshToken?.reveal() ?? "nothing") is presented, and the store has its successor")
        require(others == 0, .oneRequest, "another request is on its way")
        if let failure = failures[id], !failure.isOver, failure.at.boot == now.boot {
            require(
                elapsed(failure.at, now) >= failure.shortest, .pauses,
                "sent \(elapsed(failure.at, now)) s after failure \(failure.count), expected \(failure.shortest) s")
        }
        guard let store, store.id == id, let token = store.token(for: need.parameters) else { return }
        require(!isGood(token, for: need, at: now), .oneRefresh, "the token in the store would have been enough")
    }

    /// Whether a token satisfies the caller.
    private func isGood(_ token: AccessToken, for need: SessionRules.TokenRequirement, at now: Timestamp) -> Bool {
        guard let age = age(of: token, at: now), let lifetime = token.lifetime?.seconds else { return false }
        let isNew = token.value != need.seen?.value
        if need.isForced, !isNew { return false }
        let left = lifetime - age
        // A wall clock that has advanced by more than a minute beyond the age may mean that the machine stood still.
        let wall = received[token.value].map { now.wall.timeIntervalSince($0.wall) } ?? 0
        let sure = wall > age + 60 ? lifetime - wall : left
        if sure > 0, sure >= need.minimumValidity?.seconds ?? min(60, lifetime / 10) { return true }
        return isNew && left > 0 && need.began.boot == now.boot && age <= elapsed(need.began, now)
    }

    /// The age of a token in seconds; nil after a restart, when it is unknown.
    private func age(of token: AccessToken, at now: Timestamp) -> Double? {
        received[token.value].flatMap { $0.boot == now.boot ? elapsed($0, now) : nil }
    }

    /// Checks a token that a caller gets.
    func handsOut(_ token: AccessToken, for need: SessionRules.TokenRequirement, _ server: SimulatedServer) {
        tally.tokens += 1
        if need.isForced, token.value == need.seen?.value { tally.refusedAgain += 1 }
        // If the store has the refresh token, an access token that the store rejected can be fetched again.
        let isSafe = companions[token.value].map { server.fates[$0] == .stored } ?? !server.manner.rotates
        require(
            isSafe || storedTokens.contains(token.value), .persistBeforePublish,
            "\(token.value.reveal()) was never stored, nor the refresh token that came with it")
    }

    func requireLife(of token: AccessToken, at now: Timestamp) {
        guard let age = age(of: token, at: now), let lifetime = token.lifetime?.seconds else { return }
        require(age < lifetime, .noDeadToken, "\(token.value.reveal()) is \(age) s old and lives \(lifetime) s")
    }
}

extension SessionRules.Event {
    /// Whether the store was read under the refresh lock.
    fileprivate var isUnderLock: Bool {
        switch self {
        case .tokenNeeded(_, .unlocked), .tokenNeeded(_, .waiting): false
        default: true
        }
    }
}

extension CallKind {
    var parameters: TokenParameters {
        switch self {
        case .usual, .longer, .forced: .session
        case .narrowed: TokenParameters(scope: ["read"])
        case .ungranted: TokenParameters(scope: ["admin"])
        }
    }
}

extension InvariantChecker.Tally {
    static func += (sum: inout InvariantChecker.Tally, other: InvariantChecker.Tally) {
        sum.calls += other.calls
        sum.tokens += other.tokens
        sum.requests += other.requests
        sum.refreshes += other.refreshes
        sum.revoked += other.revoked
        sum.announced += other.announced
        sum.warnings += other.warnings
        sum.unavoidable += other.unavoidable
        sum.foreign += other.foreign
        sum.stalls += other.stalls
        sum.refusedAgain += other.refusedAgain
        sum.late += other.late
        sum.faults += other.faults
        sum.violations.merge(other.violations, uniquingKeysWith: +)
    }
}
