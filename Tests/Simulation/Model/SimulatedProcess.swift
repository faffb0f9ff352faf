import AppAuthProtocol
import AppAuthSession

/// A program that shares the session. Its memory is lost when it is killed.
final class SimulatedProcess {
    let number: Int
    /// Whether the process runs for months; otherwise it ends when it is idle.
    let isDaemon: Bool
    var session: SimulatedSession?
    var move: SimulatedMove?
    /// The time in which the process is stopped, in milliseconds.
    var stop: (since: Int, until: Int)?

    init(number: Int, isDaemon: Bool) { (self.number, self.isDaemon) = (number, isDaemon) }

    /// Loses the memory. The completions of a session capture the session, so that it would live on.
    func forget() {
        session?.completions = [:]
        (session, move, stop) = (nil, nil, nil)
    }
}

/// The counterpart of `AuthState`: a ``SessionMachine``, and the work in progress for it.
final class SimulatedSession {
    let store: SimulatedStore
    var machine: SessionMachine
    /// The events that can happen next, in any order.
    var events: [Event] = []
    var callers: [Caller] = []
    /// The refreshes that callers with the same requirement share.
    var flights: [SessionRules.TokenRequirement.Kind: SessionMachine.ID] = [:]
    /// The callers that began the refreshes.
    var beginners: [SessionMachine.ID: Caller] = [:]
    var completions: [SessionMachine.ID: (Result<SessionMachine.Outcome, any Error>) -> Void] = [:]
    var locks: [SessionMachine.ID: SimulatedStore.Lock] = [:]
    private var lastID = 0
    /// The refresh token of the latest response, and when it arrived.
    var latestResponse: (refreshToken: String, time: Int)?
    /// Whether a caller got the error that the session is over.
    var hasReportedEnd = false

    init(_ machine: SessionMachine, store: SimulatedStore) { (self.machine, self.store) = (machine, store) }

    func newID() -> SessionMachine.ID {
        lastID += 1
        return lastID
    }

    /// Whether no caller waits. A change that the store has rejected may still be in memory.
    var isIdle: Bool { callers.isEmpty && completions.isEmpty && !events.contains { !$0.isRetry } }

    /// Whether an ID token is being verified.
    var hasTokenToVerify: Bool { events.contains { if case .verify = $0 { true } else { false } } }

    /// A caller that needs a token.
    final class Caller {
        let kind: CallKind
        let need: SessionRules.TokenRequirement
        /// The refresh that the caller waits for; nil before the caller has joined one.
        var flight: SessionMachine.ID?
        /// Nil until the caller has left; `.success(nil)` if the caller was cancelled.
        var result: Result<AccessToken?, any Error>?

        init(_ kind: CallKind, _ need: SessionRules.TokenRequirement) { (self.kind, self.need) = (kind, need) }
    }

    /// Something in progress.
    enum Event {
        case join(Caller)
        /// The store is about to be called. If the call needs a lock that was lost, it waits for it until then.
        case call(SessionMachine.StoreCall, until: Int)
        /// The store has responded, but the process has not received the result yet.
        case storeReturned(Result<SessionMachine.StoreResult, any Error>)
        case lock(SessionMachine.ID)
        case lockTimedOut(SessionMachine.ID)
        case wait(SessionMachine.ID, until: Int)
        case retry(Int, at: Int)
        /// Nothing was sent, because the lock was lost.
        case unsent(SessionMachine.ID)
        case wire(SessionMachine.ID, SimulatedRequest)
        case verify(SessionMachine.ID, at: Int)
        case revoke([RevocableToken])
        /// The end of an operation that waits for all revocations.
        case finish(SessionMachine.ID, Result<SessionMachine.Outcome, any Error>)

        var isRetry: Bool { if case .retry = self { true } else { false } }
    }
}
