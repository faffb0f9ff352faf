internal import AppAuth
internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// Lets tasks wait for sockets. One thread waits for all of them.
final class SocketEvents: Sendable {
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

    /// Ends the thread. Must be called once. All waiting tasks get a `CancellationError`.
    func close() {
        state.withLock { $0.isClosed = true }
        var one: UInt64 = 1
        write(wakeUp, &one, MemoryLayout.size(ofValue: one))
        thread.withLock { $0.take() }?.join()
        for descriptor in [epoll, wakeUp] { Glibc.close(descriptor) }
    }

    /// Waits for an event, or until a read or a write would say more.
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
            guard !state.isClosed else { return CancellationError() }
            state.sockets[socket, default: [:]][writes] = waiter
            if waiter.deadline != nil { state.timed += 1 }
            let error = arm(socket, state)
            guard error == 0 else {
                _ = state.remove(socket, writes)
                return Self.unavailable(error)
            }
            // The first one with a deadline makes the thread look at the clock.
            if waiter.deadline != nil, state.timed == 1 {
                var one: UInt64 = 1
                write(wakeUp, &one, MemoryLayout.size(ofValue: one))
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
            let (isClosed, isTimed) = state.withLock { ($0.isClosed, $0.timed > 0) }
            if isClosed { break }
            let count = Int(shims_epoll_wait(epoll, &sockets, &events, capacity, isTimed ? 1000 : -1))
            for index in 0..<count { report(events[index], on: sockets[index]) }
            if isTimed, ContinuousClock.now >= nextLook {
                nextLook = .now + .seconds(1)
                endLate(.now)
            }
        }
        let waiters = state.withLock { state in
            defer { state.sockets = [:] }
            return state.sockets.values.flatMap(\.values)
        }
        for waiter in waiters { waiter.continuation.resume(throwing: CancellationError()) }
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
