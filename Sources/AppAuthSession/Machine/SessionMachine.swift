package import AppAuthProtocol

/// The control flow of a session, as a pure value: it takes inputs and returns effects.
///
/// It uses no task, clock, file or socket. ``AuthState`` executes the effects. The simulation in the tests executes the
/// same effects in virtual time. ``SessionRules`` decides what is stored and whether a response is accepted.
///
/// Callers begin *operations*. Each operation has an identifier and ends with one ``Effect/finish(_:_:)`` or
/// ``Effect/finishAfterRevocations(_:_:)``; one that changes the client's registration has one more when it has the lock,
/// and ends with ``Input/workDone(_:)``. `Phase` lists the phases of an operation that obtains a token.
///
/// The machine makes one store call at a time, in the order of the requests. So a session that was read is not older than
/// the one in memory, except while a change is unsaved and for an access token that the store has rejected. What a refresh
/// requests after a sign-out has no effect, because the record that comes with the call has an end.
package struct SessionMachine {
    package typealias ID = Int

    /// How the session in memory relates to the one in the store.
    package enum Situation {
        /// The session has never been stored.
        case new
        /// The store has the latest change, as far as this process knows. The session may have ended.
        case stored
        /// The store has not accepted the latest change yet. The refresh lock, if any, stays with that change.
        case unsaved(Unsaved)
        /// The store no longer has the session, or has another one. The session may come back later.
        case missing
    }

    /// A change that the store has not accepted yet. If it has a lock, no process may send the refresh token that the store
    /// still has: it is used up.
    package struct Unsaved {
        /// Distinguishes this change from later ones.
        let number: Int
        let event: SessionRules.Event
        let known: SessionRules.Knowledge
        /// The time of the change. Pauses begin there.
        let time: Timestamp
        /// The operation whose lock is kept until the change is stored; nil for a sign-out, which needs none.
        let lock: ID?
    }

    /// The goal of an operation.
    package enum Purpose {
        case token(SessionRules.TokenRequirement)
        /// The refresh lock and the stored session, for a change of the client's registration. The lock is held until
        /// ``Input/workDone(_:)``.
        case registration
        /// The end of the session, in memory and in the store.
        case signOut(reason: String)
        /// A save of the unsaved change.
        case save
        /// The session as another process may have stored it. An unattended read never prompts the user.
        case read(isUnattended: Bool)
    }

    package enum Input {
        case begin(ID, Purpose)
        /// The caller has stopped waiting.
        case leave(ID)
        /// The result of ``Effect/call(_:)``.
        case storeReturned(Result<StoreResult, any Error>)
        /// An operation has acquired the store's refresh lock. If there is an error, it could not.
        case locked(ID, (any Error)?)
        /// The time of ``Effect/wait(_:_:)`` has passed.
        case waited(ID)
        /// The time of ``Effect/retry(_:after:)`` has passed.
        case retry(Int)
        /// The result of ``Effect/send(_:_:)``. The jitter is between 0 and 1.
        case responded(ID, Result<TokenResponse, AuthError>, jitter: Double)
        /// The result of ``Effect/verify(_:_:)``. The jitter is between 0 and 1.
        case verified(ID, SessionRules.IDTokenOutcome, jitter: Double)
        /// The provider has changed the client's registration and invalidated the previous registration access token.
        case registered(ID, Client)
        /// The work under the lock of a ``Purpose/registration`` is done.
        case workDone(ID)
        /// The client has newer metadata in this process.
        case changed(Client)
        /// The app has asked the provider to revoke these tokens.
        case revoked([Secret])
    }

    package enum Effect {
        /// Reads or changes the store. The next call follows only after the result of this one.
        case call(StoreCall)
        /// Waits for the store's refresh lock. ``unlock(_:)`` ends the wait.
        case lock(ID, expectsSession: Bool)
        /// Releases the operation's lock, or stops waiting for it.
        case unlock(ID)
        /// The wait for the lock has taken too long. An ``Input/locked(_:_:)`` with an error that names the holder follows,
        /// unless the lock comes before it.
        case lockTimedOut(ID)
        /// Waits for this duration, then sends ``Input/waited(_:)``.
        case wait(ID, Duration)
        case stopWaiting(ID)
        /// Waits for this duration, then sends ``Input/retry(_:)``.
        case retry(Int, after: Duration)
        /// Sends the refresh token or the grant: once, unless the server demands another DPoP proof (RFC 9449 §8).
        case send(ID, SessionRules.Attempt)
        /// Verifies the ID token of a response. It may send ``Input/changed(_:)`` before its result.
        case verify(ID, TokenResponse)
        case publish(SessionChange)
        /// Begins to revoke tokens that will not be used, after all earlier revocations.
        case revoke([RevocableToken])
        case finish(ID, Result<Outcome, any Error>)
        /// Waits for all revocations that have begun, then does the same as ``finish(_:_:)``.
        case finishAfterRevocations(ID, Result<Outcome, any Error>)
    }

    package enum Outcome: Sendable {
        case token(AccessToken)
        case done
        /// The session that the store has instead of this one, if it has another.
        case read(replacement: AuthStateRecord?)
    }

    package struct StoreCall: Sendable {
        package enum Work: Sendable {
            case load
            case update(SessionRules.Event, known: SessionRules.Knowledge, at: Timestamp?)
        }

        package let work: Work
        /// See ``TokenStoreCall``.
        package let isUnattended: Bool, expectsSession: Bool
        /// The operation whose refresh lock protects the call, if it has one.
        package let lock: ID?
    }

    package enum StoreResult: Sendable {
        case loaded(AuthStateRecord?)
        /// The decision, and the stored session after it.
        case updated(SessionRules.Decision, AuthStateRecord?)
    }

    /// The signature of ``SessionRules/apply(_:to:known:at:occurredAt:)``. The simulation can replace that function with one
    /// that lacks a protection, to show that the protection is needed.
    package typealias Rules = (
        _ event: SessionRules.Event, _ stored: inout AuthStateRecord?, _ known: SessionRules.Knowledge,
        _ now: Timestamp,
        _ occurrence: Timestamp?
    ) -> SessionRules.Decision

    /// The session as this process knows it.
    package internal(set) var record: AuthStateRecord { didSet { revision += 1 } }
    package internal(set) var situation: Situation { didSet { revision += 1 } }
    /// Grows with each change of `record` or `situation`.
    package private(set) var revision = 0

    let location: String
    let patience: LockPatience
    let rules: Rules
    var now: Timestamp
    var effects: [Effect] = []
    var operations: [ID: Operation] = [:]
    /// Operations that need the refresh lock. The first holds the lock or waits for it; the others wait for the first.
    var queue: [ID] = []
    /// The requested store calls; `current` is the one in progress.
    var calls: [Call] = []
    var current: Call?
    /// Operations that wait until the unsaved change is stored.
    var savers: [ID] = []
    /// The pause before the next attempt to save that no caller waits for; nil if none is planned.
    var retryPause: Duration?
    /// Whether that attempt is in progress.
    var isRetrying = false
    /// The number of the latest pause, which distinguishes it from earlier ones.
    var retryNumber = 0
    /// The tokens that the app has asked the provider to revoke.
    var revoked: Set<Secret> = []
    var unsavedNumber = 0

    package init(
        record: AuthStateRecord, wasStored: Bool, location: String, patience: LockPatience, now: Timestamp,
        rules: @escaping Rules = { SessionRules.apply($0, to: &$1, known: $2, at: $3, occurredAt: $4) }
    ) {
        (self.record, self.location, self.patience, self.now, self.rules) = (record, location, patience, now, rules)
        situation = wasStored ? .stored : .new
    }

    /// Takes one input.
    ///
    /// - Returns: The effects, in the order in which to execute them.
    package mutating func handle(_ input: Input, at now: Timestamp) -> [Effect] {
        self.now = now
        effects = []
        switch input {
        case .begin(let id, let purpose): begin(id, purpose)
        case .leave(let id): leave(id)
        case .storeReturned(let result): storeReturned(result)
        case .locked(let id, let error): locked(id, error)
        case .waited(let id): waited(id)
        case .retry(let number): retry(number)
        case .responded(let id, let result, let jitter): responded(id, result, jitter)
        case .verified(let id, let outcome, let jitter): verified(id, outcome, jitter)
        case .registered(let id, let client): registered(id, client)
        case .workDone(let id): remove(id)
        case .changed(let client): record.change(client)
        case .revoked(let tokens): revoked.formUnion(tokens)
        }
        callStore()
        return effects
    }

    // MARK: - Knowledge

    /// Whether the store has or had the session. If so, its absence means that it was removed.
    var wasStored: Bool {
        switch situation {
        case .new: false
        case .unsaved(let unsaved): unsaved.known.wasStored
        case .stored, .missing: true
        }
    }

    /// What this process knows now. `Call.knownAtCall` is what it knew when the call was made.
    var knownNow: SessionRules.Knowledge { SessionRules.Knowledge(record: record, wasStored: wasStored) }

    var unsaved: Unsaved? { if case .unsaved(let unsaved) = situation { unsaved } else { nil } }

    /// Whether the store has not accepted tokens, a registration or the end of the session yet, which the lock protects.
    package var hasUnsavedTokens: Bool { unsaved?.lock != nil }

    /// Whether the session goes on, as far as this process knows.
    package var isAuthorized: Bool {
        if case .missing = situation { return false }
        return record.end == nil
    }

    /// Whether tokens may be handed out without reading the store: nothing is unsaved, and the session is not missing.
    package var isOpen: Bool {
        switch situation {
        case .new, .stored: true
        case .unsaved, .missing: false
        }
    }

    /// Whether a refresh token may be at the provider while its successor is not stored.
    package var isExposed: Bool { operations.values.contains { $0.isExposed } }

    /// How many operations wait until the store accepts the unsaved change. An attempt without a caller counts as one.
    package var savingCount: Int { savers.count + (isRetrying ? 1 : 0) }

    /// Whether the store is being asked to accept the unsaved change.
    var isSaving: Bool { current?.isSave ?? false }
}
