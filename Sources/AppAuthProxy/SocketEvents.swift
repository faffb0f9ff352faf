internal import AppAuth
internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// Runs tasks, and lets them wait for sockets. One thread does both, so that a task goes on where its socket was seen ready.
final class SocketEvents: TaskExecutor {
    /// What a task waits for. At most one task waits to read or for the end, and one to write.
    enum Event {
        case readable, writable
        /// The peer has ended its sending side, or the connection is broken.
        case end

        fileprivate var mask: UInt32 {
            switch self {
            case .readable: SHIMS_EPOLL_IN.rawValue | SHIMS_EPOLL_RDHUP.rawValue
            case .writable: SHIMS_EPOLL_OUT.rawValue
            case .end: SHIMS_EPOLL_RDHUP.rawValue
            }
        }
    }

    /// The deadline of a wait has passed.
    struct Late: Error {}

    private struct Waiter {
        let mask: UInt32
        let deadline: ContinuousClock.Instant?
        let continuation: LockedContinuation<Void>
    }

    private struct State {
        /// The waiters of each socket: the one that writes, and the other.
        var sockets: [Int32: [Bool: Waiter]] = [:]
        /// How many have a deadline.
        var timed = 0
        /// What the thread is to run.
        var jobs: [UnownedJob] = []
        /// Whether the thread waits, or is about to, and must be woken.
        var isAsleep = false
        var isClosed = false

        mutating func remove(_ socket: Int32, _ writes: Bool) -> Waiter? {
            let waiter = sockets[socket]?.removeValue(forKey: writes)
            if waiter?.deadline != nil { timed -= 1 }
            return waiter
        }
    }

    private let epoll: Int32
    private let wakeUp: Int32
    private let state = LockedValue(State())
    private let thread = LockedValue<SystemThread?>(nil)

    init() throws {
        (epoll, wakeUp) = (shims_epoll(), shims_event())
        do {
            for descriptor in [epoll, wakeUp] where descriptor < 0 { throw Self.unavailable(-descriptor) }
            shims_epoll_watch(epoll, wakeUp, SHIMS_EPOLL_IN.rawValue)
            let thread = try SystemThread(named: "appauth-proxy", for: .configuration) { [self] in run() }
            self.thread.withLock { $0 = thread }
        } catch {
            for descriptor in [epoll, wakeUp] where descriptor >= 0 { Glibc.close(descriptor) }
            throw error
        }
    }

    /// Ends the thread. Must be called once, when no task runs here any more.
    func close() {
        wake { $0.isClosed = true }
        thread.withLock { $0.take() }?.join()
        for descriptor in [epoll, wakeUp] { Glibc.close(descriptor) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        wake { $0.jobs.append(job) }
    }

    /// Makes a change of which the thread must know.
    private func wake(_ change: (inout State) -> Void) {
        let wasAsleep = state.withLock { state in
            change(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        guard wasAsleep else { return }
        var one: UInt64 = 1
        write(wakeUp, &one, MemoryLayout.size(ofValue: one))
    }

    /// Waits for an event, or until a read or a write would say more. Only for tasks that run here.
    ///
    /// - Throws: `CancellationError`; ``Late``, up to a second after the deadline.
    func wait(
        for event: Event, on socket: Int32, until deadline: ContinuousClock.Instant? = nil
    ) async throws {
        let writes = event == .writable
        try await withTaskCancellationHandler {
            try await withLockedContinuation { continuation in
                add(Waiter(mask: event.mask, deadline: deadline, continuation: continuation), socket, writes)
                // If the task was cancelled before, the handler has found nothing.
                if Task.isCancelled { cancel(socket, writes) }
            }
        } onCancel: {
            cancel(socket, writes)
        }
    }

    /// Forgets a socket, for which no task waits, before it is closed.
    func forget(_ socket: Int32) {
        state.withLock { $0.sockets[socket] = nil }
        shims_epoll_forget(epoll, socket)
    }

    private func add(_ waiter: Waiter, _ socket: Int32, _ writes: Bool) {
        let failure: (any Error)? = state.withLock { state in
            state.sockets[socket, default: [:]][writes] = waiter
            if waiter.deadline != nil { state.timed += 1 }
            let error = arm(socket, state)
            guard error == 0 else {
                _ = state.remove(socket, writes)
                return Self.unavailable(error)
            }
            return nil
        }
        if let failure { waiter.continuation.resume(throwing: failure) }
    }

    private func cancel(_ socket: Int32, _ writes: Bool) {
        let waiter = state.withLock { $0.remove(socket, writes) }
        waiter?.continuation.resume(throwing: CancellationError())
    }

    /// Watches a socket for what its tasks wait for. Returns an error number, or 0.
    private func arm(_ socket: Int32, _ state: State) -> Int32 {
        let mask = state.sockets[socket, default: [:]].values.reduce(0) { $0 | $1.mask }
        return mask == 0 ? 0 : -shims_epoll_watch(epoll, socket, mask)
    }

    // MARK: the thread

    private func run() {
        let capacity: Int32 = 64
        var sockets = [Int32](repeating: 0, count: Int(capacity))
        var events = [UInt32](repeating: 0, count: Int(capacity))
        var nextLook = ContinuousClock.now
        while true {
            let (jobs, isClosed, isTimed) = state.withLock { state in
                defer { state.jobs = [] }
                state.isAsleep = state.jobs.isEmpty
                return (state.jobs, state.isClosed, state.timed > 0)
            }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
            if jobs.isEmpty, isClosed { return }
            let wait: Int32 = jobs.isEmpty ? isTimed ? 1000 : -1 : 0
            let count = Int(shims_epoll_wait(epoll, &sockets, &events, capacity, wait))
            for index in 0..<count { report(events[index], on: sockets[index]) }
            if isTimed, ContinuousClock.now >= nextLook {
                nextLook = .now + .seconds(1)
                endLate(.now)
            }
        }
    }

    private func report(_ events: UInt32, on socket: Int32) {
        guard socket != wakeUp else {
            var count: UInt64 = 0
            read(wakeUp, &count, MemoryLayout.size(ofValue: count))
            shims_epoll_watch(epoll, wakeUp, SHIMS_EPOLL_IN.rawValue)
            return
        }
        let failures = SHIMS_EPOLL_ERR.rawValue | SHIMS_EPOLL_HUP.rawValue
        let ready = state.withLock { state in
            let ready = [true, false].filter { writes in
                state.sockets[socket]?[writes].map { events & ($0.mask | failures) != 0 } ?? false
            }
            defer { _ = arm(socket, state) }
            return ready.compactMap { state.remove(socket, $0) }
        }
        for waiter in ready { waiter.continuation.resume(returning: ()) }
    }

    private func endLate(_ now: ContinuousClock.Instant) {
        let late = state.withLock { state in
            let late = state.sockets.flatMap { socket, waiters in
                waiters.filter { $0.value.deadline.map { $0 <= now } ?? false }.map { (socket, $0.key) }
            }
            return late.compactMap { state.remove($0.0, $0.1) }
        }
        for waiter in late { waiter.continuation.resume(throwing: Late()) }
    }

    private static func unavailable(_ number: Int32) -> AuthError {
        AuthError(.unavailable, .configuration, "the proxy cannot wait for sockets: \(SystemError.text(number))")
    }
}
