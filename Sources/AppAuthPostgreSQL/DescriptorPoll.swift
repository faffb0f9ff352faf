internal import AppAuth
internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// Waits for sockets, any number of them on one thread. The thread starts with the first wait, and ends with this object.
final class DescriptorPoll: Sendable {
    private let loop: Loop

    /// - Throws: ``DatabaseError`` if the process has too many open files.
    init() throws {
        let event = shims_event()
        guard event >= 0 else { throw DatabaseError(message: SystemError.text(-event)) }
        loop = Loop(event: event)
    }

    deinit { loop.change { $0.isClosing = true } }

    /// Waits until a socket is ready for any of the events, or has ended.
    ///
    /// - Parameter deadline: The end of the wait; nil for none.
    /// - Returns: Whether the socket is ready; false if the deadline has passed.
    /// - Throws: `CancellationError`; ``AuthError`` if the thread cannot be started.
    func wait(for socket: Int32, _ events: Int32, until deadline: ContinuousClock.Instant?) async throws -> Bool {
        let id = loop.newID()
        defer { loop.change { $0.waits[id] = nil } }
        return try await reply { reply in
            try loop.start()
            loop.change {
                $0.waits[id] = Wait(socket: socket, events: Int16(events), deadline: deadline, reply: reply)
            }
        }
    }
}

private struct Wait: Sendable {
    let socket: Int32
    let events: Int16
    let deadline: ContinuousClock.Instant?
    let reply: Reply<Bool>
}

private final class Loop: Sendable {
    struct State {
        var waits: [Int: Wait] = [:]
        var lastID = 0
        var isRunning = false
        var isClosing = false
    }

    private let event: Int32
    private let state = LockedValue(State())

    init(event: Int32) { self.event = event }

    deinit { close(event) }

    func newID() -> Int {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    func start() throws {
        let isFirst = state.withLock { state in
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard isFirst else { return }
        do { try SystemThread(named: "appauth-pq", for: .store) { self.run() }.detach() } catch {
            state.withLock { $0.isRunning = false }
            throw error
        }
    }

    func change(_ body: (inout State) -> Void) {
        state.withLock { body(&$0) }
        var one: UInt64 = 1
        write(event, &one, MemoryLayout.size(ofValue: one))
    }

    private func run() {
        while let waits = state.withLock({ $0.isClosing ? nil : Array($0.waits) }) {
            var polled = [pollfd(fd: event, events: Int16(POLLIN), revents: 0)]
            polled += waits.map { pollfd(fd: $0.value.socket, events: $0.value.events, revents: 0) }
            let left = waits.compactMap(\.value.deadline).min().map { ($0 - .now) / .milliseconds(1) }
            let timeout = left.map { Int32(max(0, min($0.rounded(.up), 1e9))) } ?? -1
            if poll(&polled, nfds_t(polled.count), timeout) < 0 {
                for index in polled.indices { polled[index].revents = 0 }
            }
            if polled[0].revents != 0 {
                var count: UInt64 = 0
                read(event, &count, MemoryLayout.size(ofValue: count))
            }
            let now = ContinuousClock.now
            for (wait, ready) in zip(waits, polled.dropFirst()) {
                let isReady = ready.revents != 0
                guard isReady || wait.value.deadline.map({ $0 <= now }) ?? false else { continue }
                // If the waiter has left, the socket may be closed by now, and the reply has no effect.
                state.withLock { _ = $0.waits.removeValue(forKey: wait.key) }
                wait.value.reply.give(.success(isReady))
            }
        }
    }
}
