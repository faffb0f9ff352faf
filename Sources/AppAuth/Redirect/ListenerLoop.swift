internal import CShims
internal import Glibc

/// The listener's thread, which polls all sockets at once.
struct ListenerLoop {
    private typealias Instant = ContinuousClock.Instant

    private let sockets: LoopbackSockets
    private let state: ListenerState
    private let limits: ListenerLimits
    private let peers: PeerCheck
    private var connections: [RedirectConnection] = []
    private var scratch = [UInt8](repeating: 0, count: 16 << 10)
    private var pageWasRead = false
    private var pageDeadline: Instant?
    private var acceptsAgain: Instant?

    init(_ sockets: LoopbackSockets, _ state: ListenerState, _ limits: ListenerLimits, _ peers: PeerCheck) {
        (self.sockets, self.state, self.limits, self.peers) = (sockets, state, limits, peers)
    }

    /// Serves requests until the listener is closed or a browser has read its last page.
    mutating func run() {
        while true {
            let now = ContinuousClock.now
            let orders = state.orders
            if orders.isClosing || isDone(orders, now: now) { break }
            respondWaiting(orders, now: now)
            let ready = wait(now: now)
            handle(ready, now: .now)
        }
        for connection in connections { shims_end(connection.descriptor) }
        sockets.close()
        peers.close()
        state.end()
    }

    /// Returns whether the outcome was shown, or no browser asked for it in time.
    private mutating func isDone(_ orders: ListenerState.Orders, now: Instant) -> Bool {
        guard orders.isFinished else { return false }
        var deadline = pageDeadline ?? now + limits.pageTime
        if orders.isHurried { deadline = min(deadline, now + limits.hurriedPageTime) }
        pageDeadline = deadline
        return now >= deadline || pageWasRead && !connections.contains(where: \.carriesPage)
    }

    /// Retries the requests that could not be responded to when they arrived.
    private mutating func respondWaiting(_ orders: ListenerState.Orders, now: Instant) {
        for index in connections.indices {
            switch connections[index].stage {
            case .parked(let head, let parameters) where orders.canMatch: match(index, parameters, of: head, now: now)
            case .held(let head) where orders.isFinished: route(index, head, now: now)
            default: break
            }
        }
    }

    private mutating func take(_ arrival: RedirectConnection.Arrival?, at index: Int, now: Instant) {
        switch arrival {
        case .head(let head): route(index, head, now: now)
        case .form(let form, let head): match(index, form, of: head, now: now)
        case .refused(let refusal): connections[index].respond(state.refuse(refusal), now: now)
        case nil: break
        }
    }

    private mutating func route(_ index: Int, _ head: RequestHead, now: Instant) {
        switch state.route(head) {
        case .respond(let response): connections[index].respond(response, now: now)
        case .page(let response): connections[index].respond(response, isPage: true, now: now)
        case .hold: connections[index].hold(head)
        case .readForm(let length): take(connections[index].readForm(length, of: head), at: index, now: now)
        case .match(let query): match(index, query, of: head, now: now)
        }
    }

    private mutating func match(_ index: Int, _ parameters: String, of head: RequestHead, now: Instant) {
        if let response = state.match(parameters, of: head) {
            connections[index].respond(response, now: now)
        } else {
            connections[index].park(head, parameters: parameters)
        }
    }

    // MARK: poll

    /// Waits until there is work. The result holds the wake-up, then the listening sockets, then the connections.
    private func wait(now: Instant) -> [pollfd] {
        let listening = acceptsAgain == nil ? Int16(POLLIN) : 0
        var polled = [pollfd(fd: state.wakeUp, events: Int16(POLLIN), revents: 0)]
        polled += sockets.descriptors.map { pollfd(fd: $0, events: listening, revents: 0) }
        polled += connections.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }

        let deadlines = connections.compactMap(\.deadline) + [pageDeadline, acceptsAgain].compactMap { $0 }
        let milliseconds = deadlines.min().map { $0 > now ? ($0 - now) / .milliseconds(1) : 0 }
        let timeout = milliseconds.map { Int32($0.rounded(.up)) } ?? -1
        if poll(&polled, nfds_t(polled.count), timeout) < 0 {
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

        // Existing connections come before new ones, so that a new one does not evict an unread request.
        let first = 1 + sockets.descriptors.count
        for index in connections.indices where ready[first + index].revents != 0 { proceed(index, now: now) }
        for index in connections.indices { connections[index].expire(now: now) }
        removeEnded()
        for index in 1..<first where ready[index].revents != 0 { accept(ready[index].fd, now: now) }
        removeEnded()
    }

    private mutating func proceed(_ index: Int, now: Instant) {
        take(connections[index].proceed(&scratch, now: now), at: index, now: now)
    }

    private mutating func removeEnded() {
        connections.removeAll { connection in
            guard connection.isOver else { return false }
            if connection.carriesPage && connection.isSent { pageWasRead = true }
            shims_end(connection.descriptor)
            return true
        }
    }

    // MARK: accept

    /// Accepts waiting connections, at most as many at once as may be open.
    private mutating func accept(_ listener: Int32, now: Instant) {
        for _ in 0..<limits.connections {
            let descriptor = shims_accept(listener)
            if descriptor == -ECONNABORTED || descriptor == -EINTR { continue }
            if descriptor == -EMFILE || descriptor == -ENFILE || descriptor == -ENOBUFS || descriptor == -ENOMEM {
                // The process is out of descriptors. Close a connection, and pause so that the loop does not spin.
                evict()
                acceptsAgain = now + .milliseconds(20)
            }
            guard descriptor >= 0 else { return }
            // Check before reading: a request of another user must have no effect.
            let isForeign = peers.isForeign(descriptor)
            if isForeign, peers.turnsAway {
                state.turnAway()
                shims_end(descriptor)
                continue
            }
            if connections.count >= limits.connections { evict() }
            connections.append(
                RedirectConnection(descriptor: descriptor, isForeign: isForeign, limits: limits, now: now))
            // The request has usually arrived with the connection.
            proceed(connections.count - 1, now: now)
        }
    }

    /// Closes the least valuable connection, and the oldest of several equal ones.
    private mutating func evict() {
        guard let index = connections.indices.min(by: { connections[$0].worth < connections[$1].worth }) else { return }
        shims_end(connections.remove(at: index).descriptor)
    }
}
