import AppAuthProtocol
import AppAuthSession

/// A program that shares the session. It may be started many times, and its memory is lost when it is killed.
final class SimulatedProcess {
    let number: Int
    /// Whether the process runs for months; otherwise it ends when it is idle.
    let isDaemon: Bool
    var life: Life?

    init(number: Int, isDaemon: Bool) { (self.number, self.isDaemon) = (number, isDaemon) }
}

/// A running process: its `AuthState`, and what an observer knows about it.
final class Life: @unchecked Sendable {
    let host: Host
    /// The number of the ``SimulatedProcess``.
    let process: Int
    /// Set at once: it needs this object first. Nil after the process has died.
    private(set) var state: AuthState?
    /// The id of the session at the start.
    let session: String
    /// The callers that wait for a token.
    var callers: [Caller] = []
    /// The number of other tasks of the app.
    var tasks = 0
    /// The refresh lock, if the process has it.
    var grip: Grip?
    /// The latest decision of the rules about a change of the store.
    var decided: (decision: SessionRules.Decision, event: SessionRules.Event, id: String, time: Timestamp?)?
    /// What is to be sent next, and for which caller.
    var attempt: (SessionRules.Attempt, SessionRules.TokenRequirement)?
    /// How many requests for keys are on their way.
    var fetches = 0
    /// The refresh token of the latest response, and when it arrived.
    var latestResponse: (refreshToken: String, time: Int)?
    /// What the store had when it was last read without the lock, or changed.
    var lastRead: AuthStateRecord?
    /// Whether the store has reserved room for the next change.
    var hasRoom = false
    /// Whether the store has rejected the latest change.
    var hasUnsaved = false
    var isStopped = false
    /// How often the process was stopped, or the machine slept.
    var interruptions = 0
    /// Whether a caller got the error that the session is over.
    var hasReportedEnd = false
    /// When the process began.
    let start: Timestamp

    init(
        _ host: Host, _ process: Int, _ record: AuthStateRecord, at now: Timestamp, _ state: (Life) -> AuthState
    ) {
        (self.host, self.process, session, start) = (host, process, record.id, now)
        lastRead = record
        self.state = state(self)
    }

    /// Frees the memory of the process: its session and this object refer to each other.
    func end() { state = nil }

    /// Whether no task of the app waits. A change that the store has rejected may still be in memory.
    var isIdle: Bool { callers.isEmpty && tasks == 0 && host.world.isIdle(host.process) }
}

/// A caller that needs a token.
final class Caller: @unchecked Sendable {
    let kind: CallKind
    var need: SessionRules.TokenRequirement
    var task: Task<Void, Never>?
    /// How often the process was stopped, or the machine slept, before the call.
    let interruptions: Int
    /// Nil until the caller has left.
    var result: Result<AccessToken, any Error>?

    init(_ kind: CallKind, _ need: SessionRules.TokenRequirement, after interruptions: Int) {
        (self.kind, self.need, self.interruptions) = (kind, need, interruptions)
    }
}

/// What a process holds of the refresh lock. If the lock was lost, another grant of it may follow.
final class Grip: @unchecked Sendable {
    var lock: SimulatedStore.Lock

    init(_ lock: SimulatedStore.Lock) { self.lock = lock }
}
