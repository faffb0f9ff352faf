package import AppAuthProtocol

/// The control flow of a session, as a value: what happened goes in, and what is to be done comes out.
///
/// It knows no task, clock, file or socket. ``AuthState`` executes the effects; the simulation in the tests executes the same
/// effects in virtual time. What is stored, and what a response is worth, is decided by ``SessionRules``.
///
/// Callers begin *operations*. Each has an identifier and ends with one ``Effect/finish(_:_:)``. A token is obtained in these
/// phases; the store's answer, the lock, the response or a timer leads from one to the next:
///
/// reading → queued → saving → locking → marking → sending → keeping → verifying → storing
///
/// The calls of the store are made one at a time, in the order in which they were requested. So nothing that was read can be
/// older than what is known, and a sign-out comes after everything that began before it.
package struct SessionMachine {
    package typealias ID = Int

    /// How the session in memory relates to the one in the store.
    package enum Situation {
        /// No store has had the session yet.
        case new
        /// The store had it when it was last read or written.
        case stored
        /// Something happened that the store has not accepted yet. The refresh lock belongs to it.
        case unsaved(Unsaved)
        /// The store has no session any more, or another one. It may be away for a while and come back.
        case missing
        /// It is over, and the store knows.
        case ended
    }

    /// What happened, and is not stored yet. Nobody may send the refresh token that the store still has: it is used up.
    package struct Unsaved {
        /// Tells one from the next.
        let number: Int
        let event: SessionRules.Event
        let known: SessionRules.Knowledge
        /// When it happened.
        let then: Timestamp?
        /// The operation whose lock is kept; nil where there are no tokens to lose.
        let lock: ID?
    }

    /// What a caller wants.
    package enum Purpose {
        case token(SessionRules.TokenRequirement)
        /// The refresh lock, and what is stored: to change the client's registration. It is held until ``Input/end(_:)``.
        case registration
        /// The end of the session, here and in the store.
        case signOut(reason: String)
        /// That what is unsaved is stored.
        case save
        /// What another process has stored.
        case read
    }

    package enum Input {
        case begin(ID, Purpose)
        /// The caller does not wait any more.
        case leave(ID)
        /// The answer to ``Effect/call(_:)``.
        case stored(Result<StoreResult, any Error>)
        /// The refresh lock of the store was acquired for an operation, or cannot be.
        case locked(ID, (any Error)?)
        /// The time of ``Effect/wait(_:_:)`` is over.
        case waited(ID)
        /// The time of ``Effect/retry(_:after:)`` is over.
        case retry(Int)
        /// The answer to ``Effect/send(_:_:)``. Jitter: 0 to 1.
        case responded(ID, Result<TokenResponse, AuthError>, jitter: Double)
        /// The answer to ``Effect/verify(_:_:)``. Jitter: 0 to 1.
        case verified(ID, SessionRules.IDTokenOutcome, jitter: Double)
        /// The provider has changed the client's registration, and taken back the token before.
        case registered(ID, Client)
        /// An operation does not need its lock any more.
        case end(ID)
        /// The client has newer metadata in this process.
        case changed(Client)
        /// The provider was asked to revoke these.
        case revoked([Secret])
    }

    package enum Effect {
        /// Read or change the store. The next call comes after the answer.
        case call(StoreCall)
        /// Wait for the store's refresh lock; ``unlock(_:)`` ends the wait.
        case lock(ID, expectsSession: Bool)
        /// Release the operation's lock, or stop waiting for it.
        case unlock(ID)
        /// The lock was waited for too long: answer ``Input/locked(_:_:)`` with who holds it.
        case refuseLock(ID)
        /// Pass this time, then ``Input/waited(_:)``.
        case wait(ID, Duration)
        case stopWaiting(ID)
        /// Pass this time, then ``Input/retry(_:)``.
        case retry(Int, after: Duration)
        /// Send the refresh token or the grant, once.
        case send(ID, SessionRules.Attempt)
        /// Verify the ID token of a response.
        case verify(ID, TokenResponse)
        case publish(AuthState.Change)
        /// Tell the provider that nobody will use these tokens, after those before, then go on.
        case revoke([RevocableToken], then: [Effect])
        case finish(ID, Result<Outcome, any Error>)
    }

    package enum Outcome: Sendable {
        case token(AccessToken)
        case done
        /// Whether the store has another session in its place.
        case read(isReplaced: Bool)
    }

    package struct StoreCall: Sendable {
        package enum Work: Sendable {
            case load
            case update(SessionRules.Event, known: SessionRules.Knowledge, then: Timestamp?)
        }

        package let work: Work
        /// See ``TokenStoreCall``.
        package let isUnattended: Bool, expectsSession: Bool
    }

    package enum StoreResult: Sendable {
        case loaded(AuthStateRecord?)
        /// What was decided, and what the store has now.
        case updated(SessionRules.Decision, AuthStateRecord?)
    }

    /// ``SessionRules/apply(_:to:known:at:then:)``, unless the simulation shows what a protection is worth.
    package typealias Rules = (
        _ event: SessionRules.Event, _ stored: inout AuthStateRecord?, _ known: SessionRules.Knowledge,
        _ now: Timestamp,
        _ then: Timestamp?
    ) -> SessionRules.Decision

    /// The session as this process knows it.
    package internal(set) var record: AuthStateRecord { didSet { revision += 1 } }
    package internal(set) var situation: Situation { didSet { revision += 1 } }
    /// Grows with each change of the two above.
    package private(set) var revision = 0

    let location: String
    let patience: LockPatience
    let rules: Rules
    var now: Timestamp
    var effects: [Effect] = []
    var operations: [ID: Operation] = [:]
    /// Operations that need the refresh lock. The first has it, or waits for it; the others wait for the first.
    var queue: [ID] = []
    /// Calls of the store that were requested, and the one that is being made.
    var calls: [Call] = []
    var current: Call?
    /// Operations that wait until what is unsaved is stored.
    var savers: [ID] = []
    /// How long the pause is before the next attempt that nobody waits for; nil where none is planned.
    var retryPause: Duration?
    /// Whether that attempt is being made.
    var isRetrying = false
    /// Tells the last pause from those before.
    var retries = 0
    /// What the provider was asked to revoke.
    var revoked: Set<Secret> = []
    private var unsavedCount = 0

    package init(
        record: AuthStateRecord, wasStored: Bool, location: String, patience: LockPatience, now: Timestamp,
        rules: @escaping Rules = { SessionRules.apply($0, to: &$1, known: $2, at: $3, then: $4) }
    ) {
        (self.record, self.location, self.patience, self.now, self.rules) = (record, location, patience, now, rules)
        situation = wasStored ? (record.end == nil ? .stored : .ended) : .new
    }

    /// Takes one input.
    ///
    /// - Returns: What is to be done, in this order.
    package mutating func handle(_ input: Input, at now: Timestamp) -> [Effect] {
        self.now = now
        effects = []
        switch input {
        case .begin(let id, let purpose): begin(id, purpose)
        case .leave(let id): leave(id)
        case .stored(let result): stored(result)
        case .locked(let id, let error): locked(id, error)
        case .waited(let id): waited(id)
        case .retry(let number): retry(number)
        case .responded(let id, let result, let jitter): responded(id, result, jitter)
        case .verified(let id, let outcome, let jitter): verified(id, outcome, jitter)
        case .registered(let id, let client): registered(id, client)
        case .end(let id): remove(id)
        case .changed(let client): record.change(client)
        case .revoked(let tokens): revoked.formUnion(tokens)
        }
        callStore()
        return effects
    }

    // MARK: - What is known

    /// Whether the store has or had the session: then its absence means that it was removed.
    var wasStored: Bool {
        switch situation {
        case .new: false
        case .unsaved(let unsaved): unsaved.known.wasStored
        case .stored, .missing, .ended: true
        }
    }

    var knowledge: SessionRules.Knowledge { SessionRules.Knowledge(record: record, wasStored: wasStored) }

    var unsaved: Unsaved? { if case .unsaved(let unsaved) = situation { unsaved } else { nil } }

    /// Whether something happened that the store has not accepted.
    var isUnsaved: Bool { unsaved != nil }

    /// Whether there are tokens that the store has not accepted.
    package var hasUnsavedTokens: Bool { unsaved?.lock != nil }

    /// Whether the session lasts, as far as this process knows.
    package var isAuthorized: Bool {
        if case .missing = situation { return false }
        return record.end == nil
    }

    /// Whether tokens may be handed out without a look into the store: it has confirmed what there is.
    package var isOpen: Bool {
        switch situation {
        case .new, .stored, .ended: true
        case .unsaved, .missing: false
        }
    }

    /// Whether a refresh token may be at the provider, and what takes its place is not stored.
    package var isExposed: Bool { operations.values.contains { $0.phase.isExposed } }

    /// How many wait for the store to accept what it has refused.
    package var savingCount: Int { savers.count + (isRetrying ? 1 : 0) }

    mutating func keep(
        _ event: SessionRules.Event, known: SessionRules.Knowledge, then: Timestamp?, lock: ID?
    ) {
        unsavedCount += 1
        situation = .unsaved(Unsaved(number: unsavedCount, event: event, known: known, then: then, lock: lock))
    }
}

extension SessionMachine {
    /// What a caller has begun.
    struct Operation {
        let id: ID
        var purpose: Purpose
        var phase: Phase
        /// For how much longer the lock is waited for.
        var patience: Duration
        /// Whether the store is read while the lock is waited for. Nobody is asked to unlock anything for that.
        var isLooking = false
    }

    enum Phase {
        /// The store is read, without the lock.
        case reading
        /// Others of this process come first.
        case queued
        /// What is unsaved is stored first: it has the lock.
        case saving
        /// The lock of the store is waited for.
        case locking
        /// The store is told that the refresh token is about to be sent.
        case marking
        case sending(SessionRules.Attempt)
        /// The rotated refresh token is stored. The ID token is not verified yet, and nothing is handed out before.
        case keeping(SessionRules.Attempt, TokenResponse)
        case verifying(SessionRules.Attempt, TokenResponse, isKept: Bool)
        /// The result is stored. `earlier` is what was decided in memory when the store refused it for the first time.
        case storing(SessionRules.Event, isKept: Bool, earlier: SessionRules.Decision? = nil)
        /// The caller works under the lock.
        case working

        /// Whether the lock is waited for.
        var isWaiting: Bool {
            switch self {
            case .queued, .saving, .locking: true
            default: false
            }
        }

        /// Whether a refresh token may be at the provider, and what takes its place is not stored.
        var isExposed: Bool {
            switch self {
            case .marking, .sending, .keeping: true
            case .verifying(_, _, let isKept), .storing(_, let isKept, _): !isKept
            case .reading, .queued, .saving, .locking, .working: false
            }
        }
    }

    /// A call of the store that was requested.
    struct Call {
        enum Work {
            case load
            case update(SessionRules.Event, then: Timestamp?)
            /// Whatever is unsaved when it is its turn.
            case save
        }

        /// Nil for ``Work/save``, which several may wait for.
        let operation: ID?
        let work: Work
        var isUnattended = false
        /// What was known when it was made.
        var known: SessionRules.Knowledge?
        /// What ``Work/save`` stores.
        var unsaved: Unsaved?

        var isSave: Bool { if case .save = work { true } else { false } }
    }
}
