internal import CShims
internal import Glibc

/// A connection that reads one request, sends its response and ends.
struct SocketConnection<Request> {
    typealias Instant = ContinuousClock.Instant

    private enum Stage {
        case reading
        /// The request is complete, and waits for a caller or for the outcome.
        case waiting
        case sending(ArraySlice<UInt8>)
        /// The response is sent and the sending side is closed. Further input is discarded until the peer closes. To
        /// close with unread input would reset the connection, and the peer could lose an unread response.
        case seeingOff
        case over
    }

    let descriptor: Int32
    var request: Request
    /// Whether a program of another user opened the connection, as far as the kernel reports it.
    let isForeign: Bool
    private let limits: ListenerLimits
    /// The TLS of an https connection.
    private let tls: TLSSession?
    /// What TLS has to send before the response. The peer has not accepted it yet.
    private var unsent: ArraySlice<UInt8> = []
    private var stage = Stage.reading
    private(set) var deadline: Instant?
    /// Whether the response is the last page and the browser was still connected when it was sent.
    private(set) var carriesPage = false
    /// Whether the whole response was sent.
    private(set) var isSent = false

    init(
        descriptor: Int32, request: Request, isForeign: Bool, limits: ListenerLimits, tls: TLSSession? = nil,
        now: Instant
    ) {
        (self.descriptor, self.request, self.isForeign, self.limits) = (descriptor, request, isForeign, limits)
        self.tls = tls
        deadline = now + limits.requestTime
    }

    var isReading: Bool { if case .reading = stage { true } else { false } }
    var isWaiting: Bool { if case .waiting = stage { true } else { false } }
    var isOver: Bool { if case .over = stage { true } else { false } }

    var isSendingPage: Bool { if case .sending = stage { carriesPage } else { false } }

    func isLate(_ now: Instant) -> Bool { deadline.map { $0 <= now } ?? false }

    /// The events to poll for.
    var events: Int16 {
        switch stage {
        case .reading: Int16(unsent.isEmpty ? POLLIN : POLLIN | POLLOUT)
        case .seeingOff: Int16(POLLIN)
        case .sending: Int16(POLLOUT)
        case .waiting, .over: 0
        }
    }

    /// How much is lost if the connection is closed now. If a slot is needed, the connection with the lowest value is
    /// closed. A connection of another user is worth less than any of this user.
    var worth: Int { isForeign ? progress - 10 : progress }

    private var progress: Int {
        switch stage {
        case .over: 0
        case .seeingOff: 1
        case .reading: 2
        case .sending: 3
        case .waiting: 4
        }
    }

    /// Receives bytes of the request: none at the end, and nil if there is no data or the connection failed.
    mutating func receive(_ scratch: inout [UInt8]) throws(TLSSession.Failure) -> ArraySlice<UInt8>? {
        guard let count = receiveEncrypted(&scratch) else {
            if !transmit(&unsent) { end() }
            return nil
        }
        guard let tls, count > 0 else { return scratch[..<count] }
        // What TLS responds is sent even if the connection fails: it says why.
        defer {
            unsent += tls.pending()
            if !transmit(&unsent) { end() }
        }
        return try tls.open(scratch[..<count])
    }

    /// Receives bytes as they are on the wire. Returns their number, or 0 at the end. Returns nil if there is no data or the
    /// connection failed.
    private mutating func receiveEncrypted(_ scratch: inout [UInt8]) -> Int? {
        let count = recv(descriptor, &scratch, scratch.count, 0)
        if count < 0 {
            if errno != EAGAIN && errno != EINTR { end() }
            return nil
        }
        return count
    }

    /// Continues after poll has reported an event on a connection that has brought its request.
    mutating func proceed(_ scratch: inout [UInt8], now: Instant) {
        switch stage {
        case .sending(let rest): send(rest, now: now)
        case .seeingOff: if receiveEncrypted(&scratch) == 0 { end() }
        // No event was requested, so poll reported an error or the end of the connection.
        case .reading, .waiting, .over: end()
        }
    }

    /// Keeps the request until it can be responded to.
    mutating func wait() { (stage, deadline) = (.waiting, nil) }

    mutating func end() { (stage, deadline) = (.over, nil) }

    /// Sends as much of a response as the peer accepts now. The rest follows after poll.
    mutating func respond(_ response: [UInt8], isPage: Bool = false, now: Instant) {
        carriesPage = isPage && !isAbandoned
        deadline = now + limits.requestTime
        send(tls.map { unsent + $0.seal(response) } ?? response[...], now: now)
    }

    /// Whether the peer has closed the connection. A browser does so if the user reloads, stops, or closes the tab. The
    /// peer may have closed only its sending side, so it still gets a response.
    private var isAbandoned: Bool {
        var byte: UInt8 = 0
        let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        // After a request, a browser sends nothing by TLS but the end.
        return tls == nil ? count == 0 : count >= 0
    }

    /// Whether the peer has reset the connection, and cannot get a response.
    var isReset: Bool {
        var polled = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&polled, 1, 0) > 0 && polled.revents & Int16(POLLERR) != 0
    }

    private mutating func send(_ response: ArraySlice<UInt8>, now: Instant) {
        var rest = response
        guard transmit(&rest) else { return stage = .over }
        guard rest.isEmpty else { return stage = .sending(rest) }
        shims_end_sending(descriptor)
        isSent = true
        (stage, deadline) = (.seeingOff, now + limits.farewellTime)
    }

    /// Sends what the peer accepts now, and keeps the rest. Returns false if the connection failed.
    private func transmit(_ rest: inout ArraySlice<UInt8>) -> Bool {
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count < 0 {
                if errno == EINTR { continue }
                return errno == EAGAIN
            }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
