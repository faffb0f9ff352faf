internal import CShims
internal import Glibc

/// The thread of a ``SocketServer``, which polls all sockets at once.
struct SocketLoop<Rules: ConnectionRules> {
    private typealias Instant = ContinuousClock.Instant

    private let server: SocketServer<Rules>
    private let sockets: [Int32]
    private let limits: ListenerLimits
    private let tls: ListenerTLS?
    private let admit: @Sendable (Int32) -> Admission
    private var connections: [SocketConnection<Rules.Request>] = []
    private var scratch = [UInt8](repeating: 0, count: 16 << 10)
    private var pageWasRead = false
    private var pageDeadline: Instant?
    private var acceptsAgain: Instant?

    init(
        _ server: SocketServer<Rules>, _ sockets: [Int32], _ limits: ListenerLimits, _ tls: ListenerTLS?,
        _ admit: @escaping @Sendable (Int32) -> Admission
    ) {
        (self.server, self.sockets, self.limits, self.tls, self.admit) = (server, sockets, limits, tls, admit)
    }

    /// Serves connections until the listener is closed or a browser has read its last page.
    mutating func run() {
        while true {
            let now = ContinuousClock.now
            if isDone(now: now) { break }
            for index in connections.indices where connections[index].isWaiting { serve(index, now: now) }
            removeEnded()
            handle(wait(now: now), now: .now)
        }
        for connection in connections { shims_end(connection.descriptor) }
    }

    /// Returns whether the listener was closed, the outcome was shown, or no browser asked for it in time.
    private mutating func isDone(now: Instant) -> Bool {
        let orders = server.orders
        if orders.isClosing { return true }
        guard orders.isFinished else { return false }
        var deadline = pageDeadline ?? now + limits.pageTime
        if orders.isHurried { deadline = min(deadline, now + limits.hurriedPageTime) }
        pageDeadline = deadline
        if pageWasRead && !connections.contains(where: \.carriesPage) { return true }
        // A page that is being sent has the time of its connection.
        return now >= deadline && (orders.isHurried || !connections.contains(where: \.isSendingPage))
    }

    /// Serves a request: reads what has arrived, finds the next step, matches a redirect, and responds.
    private mutating func serve(_ index: Int, now: Instant) {
        let step: ConnectionStep
        if connections[index].isWaiting {
            step = server.withRules { rules, phase in rules.step(for: connections[index].request, in: phase) }
        } else {
            do throws(TLSSession.Failure) {
                guard let bytes = try connections[index].receive(&scratch) else { return }
                step = server.withRules { rules, phase in
                    rules.read(bytes, of: &connections[index].request, in: phase)
                }
            } catch {
                server.ignore(error.obstacle)
                return connections[index].end()
            }
        }
        switch step {
        case .readMore: break
        case .match(let parameters):
            // The reset may have come since the last poll, or together with the request.
            if !Rules.keepsAbandonedRedirects && connections[index].isReset { return connections[index].end() }
            guard let response = server.match(parameters, of: connections[index].request) else {
                return connections[index].wait()
            }
            connections[index].respond(response, now: now)
        case .wait: connections[index].wait()
        case .respond(let response): connections[index].respond(response, now: now)
        case .ignore(let response, let obstacle):
            server.ignore(obstacle)
            connections[index].respond(response, now: now)
        case .fail(let response, let error):
            connections[index].respond(response, now: now)
            server.fail(error)
        case .page(let page): connections[index].respond(page, isPage: true, now: now)
        case .close: connections[index].end()
        }
    }

    // MARK: poll

    /// Waits until there is work. The result holds the wake-up, then the listening sockets, then the connections.
    private func wait(now: Instant) -> [pollfd] {
        let listening = acceptsAgain == nil ? Int16(POLLIN) : 0
        var polled = [pollfd(fd: server.wakeUp, events: Int16(POLLIN), revents: 0)]
        polled += sockets.map { pollfd(fd: $0, events: listening, revents: 0) }
        polled += connections.map { connection in
            let isKept = connection.isWaiting && Rules.keepsAbandonedRedirects
            return pollfd(fd: isKept ? -1 : connection.descriptor, events: connection.events, revents: 0)
        }
        let deadlines =
            connections.compactMap(\.deadline)
            + [pageDeadline.flatMap { $0 > now ? $0 : nil }, acceptsAgain].compactMap { $0 }
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
            read(server.wakeUp, &count, MemoryLayout.size(ofValue: count))
        }
        if let again = acceptsAgain, again <= now { acceptsAgain = nil }

        // Existing connections come before new ones, so that a new one does not evict an unread request.
        let first = 1 + sockets.count
        for index in connections.indices where ready[first + index].revents != 0 {
            if connections[index].isReading {
                serve(index, now: now)
            } else {
                connections[index].proceed(&scratch, now: now)
            }
        }
        for index in connections.indices where connections[index].isLate(now) { expire(index, now: now) }
        removeEnded()
        for index in 1..<first where ready[index].revents != 0 { accept(ready[index].fd, now: now) }
    }

    private mutating func expire(_ index: Int, now: Instant) {
        guard connections[index].isReading,
            let response = server.withRules({ rules, _ in rules.response(toLate: connections[index].request) })
        else { return connections[index].end() }
        connections[index].respond(response, now: now)
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
    private mutating func accept(_ socket: Int32, now: Instant) {
        for _ in 0..<limits.connections {
            let descriptor = shims_accept(socket)
            if descriptor == -ECONNABORTED || descriptor == -EINTR { continue }
            guard descriptor >= 0 else {
                if descriptor == -EAGAIN { return }
                // If the process is out of descriptors, close a connection, but not a browser that waits: the new
                // connection has brought nothing yet. Pause so that the loop does not spin.
                if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(-descriptor) { evict { !$0.isWaiting || $0.isForeign } }
                acceptsAgain = now + .milliseconds(20)
                return
            }
            // Check before reading: a request of another user must have no effect.
            let admission = admit(descriptor)
            if admission == .refused {
                server.ignore(.refusedUser)
                shims_end(descriptor)
                continue
            }
            if connections.count >= limits.connections { evict() }
            connections.append(
                SocketConnection(
                    descriptor: descriptor,
                    request: server.withRules { rules, _ in rules.newRequest(isForeign: admission == .foreign) },
                    isForeign: admission == .foreign, limits: limits, tls: tls.map(TLSSession.init), now: now))
            // The request has usually arrived with the connection.
            serve(connections.count - 1, now: now)
        }
    }

    /// Closes the least valuable connection of those that may give way, and the oldest of several equal ones.
    private mutating func evict(where mayGiveWay: (SocketConnection<Rules.Request>) -> Bool = { _ in true }) {
        let candidates = connections.indices.filter { mayGiveWay(connections[$0]) }
        guard let index = candidates.min(by: { connections[$0].worth < connections[$1].worth }) else { return }
        shims_end(connections.remove(at: index).descriptor)
    }
}
