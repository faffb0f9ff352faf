import AppAuthProtocol
import AppAuthSession

/// A program that shares the session: what it has in memory, which is lost when it is killed.
final class SimulatedProcess {
    let number: Int
    /// Whether it runs for months; otherwise it ends when nobody waits for it any more.
    let isDaemon: Bool
    var session: SimulatedSession?
    var move: SimulatedMove?

    init(number: Int, isDaemon: Bool) { (self.number, self.isDaemon) = (number, isDaemon) }
}

/// What an `AuthState` is: a ``SessionMachine``, and what is being done for it.
final class SimulatedSession {
    let store: SimulatedStore
    var machine: SessionMachine
    /// What can happen next, in any order.
    var events: [Event] = []
    var callers: [Caller] = []
    /// The refreshes that callers with the same wishes share.
    var flights: [SessionRules.TokenRequirement.Kind: SessionMachine.ID] = [:]
    /// Who has begun each of them.
    var beginners: [SessionMachine.ID: Caller] = [:]
    var completions: [SessionMachine.ID: (Result<SessionMachine.Outcome, any Error>) -> Void] = [:]
    var locks: [SessionMachine.ID: SimulatedStore.Lock] = [:]
    private var lastID = 0
    /// The refresh token that came last, and when.
    var latestResponse: (refreshToken: String, time: Int)?
    /// Whether a caller was told that the session is over.
    var hasToldEnd = false

    init(_ machine: SessionMachine, store: SimulatedStore) { (self.machine, self.store) = (machine, store) }

    func newID() -> SessionMachine.ID {
        lastID += 1
        return lastID
    }

    /// Whether nobody waits for anything. What the store has refused may still be in memory.
    var isIdle: Bool { callers.isEmpty && completions.isEmpty && !events.contains { !$0.isRetry } }

    /// Whether an ID token is being verified.
    var hasTokenToVerify: Bool { events.contains { if case .verify = $0 { true } else { false } } }

    /// Somebody who wants a token.
    final class Caller {
        let kind: CallKind
        let need: SessionRules.TokenRequirement
        /// The refresh whose end is waited for; nil before the caller has joined one.
        var flight: SessionMachine.ID?
        /// Nil until the caller has left; nil within for one that was cancelled.
        var result: Result<AccessToken?, any Error>?

        init(_ kind: CallKind, _ need: SessionRules.TokenRequirement) { (self.kind, self.need) = (kind, need) }
    }

    /// Something that is under way.
    enum Event {
        case join(Caller)
        /// The store is about to be called.
        case call(SessionMachine.StoreCall)
        /// The store has answered, and the process has not heard it yet.
        case answer(Result<SessionMachine.StoreResult, any Error>)
        case lock(SessionMachine.ID)
        case refuseLock(SessionMachine.ID)
        case wait(SessionMachine.ID, until: Int)
        case retry(Int, at: Int)
        case wire(SessionMachine.ID, SimulatedRequest)
        case verify(SessionMachine.ID, at: Int)
        case revoke([RevocableToken], then: [SessionMachine.Effect])

        var isRetry: Bool { if case .retry = self { true } else { false } }
    }
}
