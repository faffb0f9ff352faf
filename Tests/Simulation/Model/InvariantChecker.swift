import AppAuthProtocol
import AppAuthSession

/// Sees everything, knows what is true, and judges by arithmetic of its own.
final class InvariantChecker {
    /// What a run came to.
    struct Tally {
        var calls = 0
        var tokens = 0
        var requests = 0
        var refreshes = 0
        /// Sessions that ended because the provider's side ended them, or a person did.
        var revoked = 0
        /// Those whose newest refresh token was lost with a response or a process, at a server without enough grace.
        var unavoidable = 0
        /// Those that a foreign ID token ended.
        var foreign = 0
        /// Times at which a process that had nothing to do kept the others from refreshing when all was well again.
        var stalls = 0
        /// Callers who said that their token is no good, and got it again from a refresh that others had begun.
        var refusedAgain = 0
        var moves = 0
        var faults = 0
        /// How often each invariant did not hold, where that does not end the run.
        var violations: [Invariant: Int] = [:]
        var examples: [String] = []
    }

    private struct Failure {
        var count: Int
        var at: Timestamp
        var retryAfter: Int

        /// For how many seconds nobody tries again, without jitter.
        var shortest: Double {
            max(Double(retryAfter), [0, 0, 1, 2, 4, 8, 16, 32].dropFirst(count).first ?? 48)
        }
    }

    var tally = Tally()
    private(set) var violation: Violation?
    /// The one that counts, while a failure is shrunk or the simulator is tried out; else all do.
    private let watched: Invariant?
    private var storedTokens: Set<Secret> = []
    private var received: [Secret: Timestamp] = [:]
    /// The refresh token that came with an access token.
    private var companions: [Secret: String] = [:]
    private var superseded: Set<String> = []
    /// Sessions out of which a person has signed in some process, whether the store knows it or not.
    var signedOut: Set<String> = []
    /// Sessions that are over, though the disk was full when that came out.
    var endedInMemory: Set<String> = []
    private var gone: Set<String> = []
    /// Sessions that a mover has brought to the other store while they were signed out, and has not yet taken back.
    private var revived: Set<String> = []
    /// Sessions that were signed out while they were on their way.
    private var entombed: Set<String> = []
    /// Sessions on their way of which a new sign-in has taken the place.
    private var replaced: Set<String> = []
    private var failures: [String: Failure] = [:]
    private var writes = 0

    /// Whether a run goes on when an invariant does not hold.
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

    // MARK: - What happens

    func receives(_ token: Secret, with refreshToken: String?, at now: Timestamp) {
        received[token] = now
        companions[token] = refreshToken
    }

    /// The store has changed.
    func stores(
        _ old: AuthStateRecord?, _ new: AuthStateRecord?, by event: SessionRules.Event?, _ server: SimulatedServer
    ) {
        checkReadable(new)
        if let event {
            require(
                old == nil || new == nil || old?.id == new?.id, .noOverwrite,
                "a session of an earlier sign-in took the place of the newer one")
            require(old != nil || new == nil, .noReturn, "a session came to be without a sign-in")
            require(old?.id != new?.id || old?.end == nil || new?.end != nil, .noReturn, "an ended session goes on")
            // What a sign-out leaves of a copy is no session.
            let isThere = new.map { ($0.refreshToken ?? $0.accessToken?.value) != nil } ?? false
            let isGone = new.map { gone.contains($0.id) && !revived.contains($0.id) } ?? false
            require(!isThere || !isGone, .noReturn, "a removed session is there again")
            if let old, let new, old.end == nil, new.end != nil, new.move == nil {
                checkEnd(of: old, by: event, server)
            }
        }
        if let old, old.id != new?.id || new?.move != nil { removes(old, new, by: event) }
        if let token = new?.refreshToken?.reveal() { server.fates[token] = .stored }
        // Where it was signed out on its way, the copy in the other store may be used until that is found.
        if let used = old?.refreshToken?.reveal(), let new, old?.id == new.id, used != new.refreshToken?.reveal(),
            new.move == nil
        {
            superseded.insert(used)
        }
        for kind in CallKind.allCases { (new?.token(for: kind.parameters)?.value).map { _ = storedTokens.insert($0) } }
    }

    private func removes(_ record: AuthStateRecord, _ new: AuthStateRecord?, by event: SessionRules.Event?) {
        // What is in the other store may be used until whoever moves it next finds that it is over.
        if new?.id == record.id { return _ = entombed.insert(record.id) }
        // One that a new sign-in replaces on its way to the other store may arrive there, and is another session.
        if record.move != nil, event == nil {
            entombed.remove(record.id)
            return _ = replaced.insert(record.id)
        }
        gone.insert(record.id)
    }

    /// Whether a session was removed from a store from which it was used.
    func isGone(_ id: String) -> Bool { gone.contains(id) }

    /// All is over: no mover is on its way, and none has to be asked to go on.
    func ends(_ stores: [SimulatedStore]) {
        let used = Set(stores.compactMap(\.record).filter { $0.move == nil }.map(\.id))
        require(
            revived.isEmpty && entombed.isDisjoint(with: used), .noReturn,
            "a session that was signed out on its way is used in the other store")
    }

    /// A store has changed, since the session is moved.
    func moves(_ old: AuthStateRecord?, _ new: AuthStateRecord?, among stores: [SimulatedStore]) {
        checkReadable(new)
        // A copy that is marked is not used. Whether it was signed out in this moment, the mover looks at once, or whoever
        // goes on where it died.
        if let new, new.move == nil, gone.contains(new.id) { revived.insert(new.id) }
        if new == nil, let old { revived.remove(old.id) }
        require(old == nil || new == nil || old?.id == new?.id || old?.move != nil, .noOverwrite, "a move took a place")
        guard let old, old.id != new?.id, old.end == nil else { return }
        let isOver = [gone, entombed, replaced].contains { $0.contains(old.id) }
        require(isOver || stores.contains { $0.record?.id == old.id }, .sessionKept, "a move has removed it everywhere")
    }

    private func checkReadable(_ new: AuthStateRecord?) {
        writes += 1
        // Not each, since it takes as long as all else.
        guard let new, writes % 4 == 1 else { return }
        let read = try? AuthStateRecord(decoding: new.encoded(), from: "the store")
        require(read == new, .readable, "what is read differs from what was written")
    }

    private func checkEnd(of record: AuthStateRecord, by event: SessionRules.Event, _ server: SimulatedServer) {
        if case .answered(_, _, .refused, _) = event {
            tally.foreign += 1
            return
        }
        switch record.refreshToken.flatMap({ server.grant(of: $0.reveal()) })?.end {
        case nil: require(false, .sessionKept, "it was ended, and the server honours it")
        case .revoked: tally.revoked += 1
        case .reuse(excused: true): tally.unavoidable += 1
        case .reuse(excused: false):
            require(false, .sessionKept, "a used refresh token came back, and somebody had its successor")
        }
    }

    /// The rules have decided what comes of an event.
    func decides(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ need: SessionRules.TokenRequirement?,
        _ id: String,
        at now: Timestamp
    ) {
        guard let need else { return }
        switch decision.action {
        case .handOut(let token): requireLife(of: token, at: now)
        case .fail(let error) where error.isHeldBack:
            let failure = failures[id]
            let longest = failure.map { max(Double($0.retryAfter), min(60, $0.shortest * 1.25)) } ?? 0
            let isInside = failure.map { $0.at.boot != now.boot || elapsed($0.at, now) < longest } ?? false
            require(isInside, .pauses, "a caller was held back, after \(failure?.count ?? 0) failures in a row")
            fallthrough
        case .fail(let error):
            require(
                !error.message.contains("invalid_scope") || need.parameters == CallKind.ungranted.parameters,
                .ownErrors,
                "a caller was told \(error.code.rawValue), and had asked for no scope")
        default: break
        }
    }

    /// A refresh that failed or succeeded is in the store.
    func counts(_ event: SessionRules.Event, _ action: SessionRules.Action, _ id: String, at now: Timestamp) {
        switch (event, action) {
        case (_, .fail(let told)) where told.code == .signInRequired: break
        case (.failed, .lookAgain): break
        // Whether that was one caller's wish alone, the next refresh of the session's own shows.
        case (.failed(let attempt, let error, _), _)
        where attempt.need.parameters != .session && error.code == .invalidGrant && !error.isTemporary: break
        case (.failed(_, let error, _), _) where !error.message.contains("invalid_scope"): fail(error, id, now)
        // The store took it late.
        case (.answered(_, _, .verified, _), .fail(let error)) where error.code == .store: failures[id] = nil
        // What was refused was one caller's wish; the session's own refresh went well.
        case (.answered(_, _, .verified, _), .fail(let error)) where error.message.contains("invalid_scope"):
            failures[id] = nil
        case (.answered(_, _, .unverifiable(let error), _), _), (.answered(_, _, .verified, _), .fail(let error)):
            fail(error, id, now)
        case (.answered(_, _, .verified, _), _): failures[id] = nil
        default: break
        }
    }

    private func fail(_ error: AuthError, _ id: String, _ now: Timestamp) {
        failures[id] = Failure(count: (failures[id]?.count ?? 0) + 1, at: now, retryAfter: error.retryAfter ?? 0)
    }

    private func elapsed(_ begin: Timestamp, _ end: Timestamp) -> Double { (end.sinceBoot - begin.sinceBoot).seconds }

    /// A refresh token is about to be sent.
    func sends(
        _ attempt: SessionRules.Attempt, for need: SessionRules.TokenRequirement, of id: String, beside others: Int,
        _ store: AuthStateRecord?, at now: Timestamp
    ) {
        tally.requests += 1
        require(
            !superseded.contains(attempt.refreshToken?.reveal() ?? ""), .noReuse,
            "\(attempt.refreshToken?.reveal() ?? "nothing") is presented, and the store has its successor")
        require(others == 0, .oneRequest, "another request is on its way")
        if let failure = failures[id], failure.at.boot == now.boot {
            require(
                elapsed(failure.at, now) >= failure.shortest, .pauses,
                "sent \(elapsed(failure.at, now)) s after failure \(failure.count), expected \(failure.shortest) s")
        }
        guard let store, store.id == id, let token = store.token(for: need.parameters) else { return }
        require(!isGood(token, for: need, at: now), .oneRefresh, "the token in the store would have been enough")
    }

    /// Whether a caller has no use for another token.
    private func isGood(_ token: AccessToken, for need: SessionRules.TokenRequirement, at now: Timestamp) -> Bool {
        guard let age = age(of: token, at: now), let lifetime = token.lifetime?.seconds else { return false }
        let isNew = token.value != need.seen?.value
        if need.isForced, !isNew { return false }
        let left = lifetime - age
        if left > 0, left >= need.minimumValidity?.seconds ?? min(60, lifetime / 10) { return true }
        return isNew && left > 0 && need.began.boot == now.boot && age <= elapsed(need.began, now)
    }

    /// In seconds; nil after a restart, when nobody can be sure.
    private func age(of token: AccessToken, at now: Timestamp) -> Double? {
        received[token.value].flatMap { $0.boot == now.boot ? elapsed($0, now) : nil }
    }

    /// A caller gets a token.
    func handsOut(_ token: AccessToken, for need: SessionRules.TokenRequirement, _ server: SimulatedServer) {
        tally.tokens += 1
        if need.isForced, token.value == need.seen?.value { tally.refusedAgain += 1 }
        // Where the store has the refresh token, an access token that it has refused can be had again.
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
        sum.unavoidable += other.unavoidable
        sum.foreign += other.foreign
        sum.stalls += other.stalls
        sum.refusedAgain += other.refusedAgain
        sum.moves += other.moves
        sum.faults += other.faults
        sum.violations.merge(other.violations, uniquingKeysWith: +)
    }
}
