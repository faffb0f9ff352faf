internal import CShims
internal import Glibc

/// The thread of a ``PrivateUseRedirectListener``: one poll for its socket and all who connect.
struct DeliveryLoop {
    private typealias Instant = ContinuousClock.Instant

    private let socket: Int32
    private let state: DeliveryState
    private let patience: Duration
    private var connections: [DeliveryConnection] = []
    private var scratch = [UInt8](repeating: 0, count: 4 << 10)
    private var acceptsAgain: Instant?

    /// Connections at a time; a new one pushes out the oldest.
    private static let most = 64

    /// - Parameter patience: How long a URL may take to come.
    init(_ socket: Int32, _ state: DeliveryState, patience: Duration) {
        (self.socket, self.state, self.patience) = (socket, state, patience)
    }

    /// Serves until the listener is closed.
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

    /// Waits until something can be done. The order of the answer: the wake-up, the socket, the connections.
    private func wait() -> [pollfd] {
        var polled = [pollfd(fd: state.wakeUp, events: Int16(POLLIN), revents: 0)]
        polled.append(pollfd(fd: socket, events: acceptsAgain == nil ? Int16(POLLIN) : 0, revents: 0))
        // A parked one is left alone, also when its helper has gone: the redirect is still good.
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
                // The process has no descriptor left: make one free, and do not turn in circles until there is one.
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
            // The URL has mostly come with the connection.
            proceed(connections.count - 1)
        }
    }

    /// Closes the oldest connection, of those that have brought no redirect yet if there is one.
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
