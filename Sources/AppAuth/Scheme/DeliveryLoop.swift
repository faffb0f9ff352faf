internal import CShims
internal import Glibc

/// The thread of a ``PrivateUseRedirectListener``, which polls its socket and all connections at once.
struct DeliveryLoop {
    private typealias Instant = ContinuousClock.Instant

    private let socket: Int32
    private let state: DeliveryState
    private let patience: Duration
    private var connections: [DeliveryConnection] = []
    private var scratch = [UInt8](repeating: 0, count: 4 << 10)
    private var acceptsAgain: Instant?

    /// The number of open connections. A further one evicts the oldest.
    private static let most = 64

    /// - Parameter patience: The time for a URL to arrive.
    init(_ socket: Int32, _ state: DeliveryState, patience: Duration) {
        (self.socket, self.state, self.patience) = (socket, state, patience)
    }

    /// Serves connections until the listener is closed.
    mutating func run() {
        while !state.isClosing {
            if state.canMatch { matchParked() }
            let ready = wait()
            handle(ready, now: .now)
        }
        for connection in connections { shims_end(connection.descriptor) }
        shims_end(socket)
        state.end()
    }

    private mutating func matchParked() {
        for index in connections.indices {
            if case .parked(let url) = connections[index].stage { match(url, at: index) }
        }
        removeEnded()
    }

    private mutating func match(_ url: String, at index: Int) {
        if let isTaken = state.match(url) {
            connections[index].respond(isTaken: isTaken)
        } else {
            connections[index].park(url)
        }
    }

    /// Waits until there is work. The result holds the wake-up, then the socket, then the connections.
    private func wait() -> [pollfd] {
        var polled = [pollfd(fd: state.wakeUp, events: Int16(POLLIN), revents: 0)]
        polled.append(pollfd(fd: socket, events: acceptsAgain == nil ? Int16(POLLIN) : 0, revents: 0))
        // Parked connections are not polled, even if their helper has gone: the redirect is still valid.
        polled += connections.map { pollfd(fd: $0.isParked ? -1 : $0.descriptor, events: $0.events, revents: 0) }
        let end = (connections.compactMap(\.end) + [acceptsAgain].compactMap { $0 }).min()
        let milliseconds = end.map { max(.zero, $0 - .now) / .milliseconds(1) }
        if poll(&polled, nfds_t(polled.count), milliseconds.map { Int32($0.rounded(.up)) } ?? -1) < 0 {
            for index in polled.indices { polled[index].revents = 0 }
        }
        return polled
    }

    private mutating func handle(_ ready: [pollfd], now: Instant) {
        if ready[0].revents != 0 {
            var count: UInt64 = 0
            read(state.wakeUp, &count, MemoryLayout.size(ofValue: count))
        }
        if let again = acceptsAgain, again <= now { acceptsAgain = nil }
        for index in connections.indices where ready[2 + index].revents != 0 { proceed(index) }
        for index in connections.indices { connections[index].expire(now: now) }
        removeEnded()
        if ready[1].revents != 0 { accept(now: now) }
        removeEnded()
    }

    private mutating func proceed(_ index: Int) {
        switch connections[index].read(&scratch) {
        case .url(let url): match(url, at: index)
        case .refused:
            state.ignore()
            connections[index].respond(isTaken: false)
        case nil: break
        }
    }

    private mutating func accept(now: Instant) {
        for _ in 0..<Self.most {
            let descriptor = shims_accept(socket)
            if descriptor == -ECONNABORTED || descriptor == -EINTR { continue }
            if descriptor < 0, descriptor != -EAGAIN {
                // The process is out of descriptors. Close a connection, and pause so that the loop does not spin.
                evict()
                acceptsAgain = now + .milliseconds(20)
            }
            guard descriptor >= 0 else { return }
            if connections.count >= Self.most { evict() }
            let connection = DeliveryConnection(descriptor: descriptor, deadline: now + patience)
            guard !connection.isForeign else {
                state.ignore()
                shims_end(descriptor)
                continue
            }
            connections.append(connection)
            // The URL has usually arrived with the connection.
            proceed(connections.count - 1)
        }
    }

    /// Closes the oldest connection that has not brought a redirect, or else the oldest.
    private mutating func evict() {
        guard !connections.isEmpty else { return }
        let index = connections.firstIndex { !$0.isParked } ?? 0
        shims_end(connections.remove(at: index).descriptor)
    }

    private mutating func removeEnded() {
        connections.removeAll { connection in
            if connection.isOver { shims_end(connection.descriptor) }
            return connection.isOver
        }
    }
}
