internal import CShims
internal import Glibc

/// A connection that reads one request, sends its response and ends.
struct RedirectConnection {
    typealias Instant = ContinuousClock.Instant

    enum Stage {
        case reading(RequestHeadReader)
        case readingForm(FormReader, RequestHead)
        /// A redirect that arrived before any caller waits for it.
        case parked(RequestHead, parameters: String)
        /// A browser that waits for the outcome.
        case held(RequestHead)
        case sending([UInt8], from: Int)
        /// The response is sent and the sending side is closed. Further input is discarded until the peer closes. To
        /// close with unread input would reset the connection, and the browser could lose an unread page.
        case seeingOff
        case over
    }

    /// Input that requires a response.
    enum Arrival {
        case head(RequestHead)
        /// The form that follows the head.
        case form(String, RequestHead)
        case refused(RequestHead.Refusal)
    }

    let descriptor: Int32
    /// Whether a program of another user opened the connection, as far as the kernel reports it.
    private let isForeign: Bool
    private let limits: ListenerLimits
    /// The bytes that arrived after the head: the start of a form, if there is one.
    private var behindHead: ArraySlice<UInt8> = []
    private(set) var stage: Stage
    private(set) var deadline: Instant?
    /// Whether the response is the last page and the browser was still connected when it was sent.
    private(set) var carriesPage = false
    /// Whether the whole response was sent.
    private(set) var isSent = false

    init(descriptor: Int32, isForeign: Bool, limits: ListenerLimits, now: Instant) {
        (self.descriptor, self.isForeign, self.limits) = (descriptor, isForeign, limits)
        stage = .reading(RequestHeadReader(limit: limits.headBytes))
        deadline = now + limits.requestTime
    }

    /// The events to poll for.
    var events: Int16 {
        switch stage {
        case .reading, .readingForm, .seeingOff: Int16(POLLIN)
        case .sending: Int16(POLLOUT)
        case .parked, .held, .over: 0
        }
    }

    /// How much is lost if the connection is closed now. If a slot is needed, the connection with the lowest value is
    /// closed. A connection of another user is worth less than any of this user.
    var worth: Int { isForeign ? progress - 10 : progress }

    private var progress: Int {
        switch stage {
        case .over: 0
        case .seeingOff: 1
        case .reading, .readingForm: 2
        case .sending: 3
        case .parked: 4
        case .held: 5
        }
    }

    var isOver: Bool { if case .over = stage { true } else { false } }

    /// Whether the peer has closed the connection. A browser does so if the user reloads, stops, or closes the tab. The
    /// peer may have closed only its sending side, so it still gets a response.
    private var isAbandoned: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// Continues after poll has reported an event.
    mutating func proceed(_ scratch: inout [UInt8], now: Instant) -> Arrival? {
        switch stage {
        case .reading, .readingForm: return read(&scratch)
        case .sending: send(now: now)
        case .seeingOff: drop(&scratch)
        // No event was requested, so poll reported an error or the end of the connection.
        case .parked, .held: stage = .over
        case .over: break
        }
        return nil
    }

    private mutating func read(_ scratch: inout [UInt8]) -> Arrival? {
        guard let count = receive(&scratch) else { return nil }
        guard count > 0 else {
            stage = .over
            return nil
        }
        var bytes = scratch[..<count]
        let stage = stage
        self.stage = .over  // releases the reader's storage, so that it is not copied
        switch stage {
        case .reading(let reader): return read(head: reader, &bytes)
        case .readingForm(let reader, let head): return read(form: reader, of: head, bytes)
        case .parked, .held, .sending, .seeingOff, .over: return nil
        }
    }

    private mutating func read(head reader: consuming RequestHeadReader, _ bytes: inout ArraySlice<UInt8>) -> Arrival? {
        switch reader.read(&bytes) {
        case .needsMore:
            stage = .reading(reader)
            return nil
        case .request(let head):
            behindHead = bytes
            return .head(head)
        case .bad(let refusal): return .refused(refusal)
        }
    }

    private mutating func read(
        form reader: consuming FormReader, of head: RequestHead, _ bytes: ArraySlice<UInt8>
    ) -> Arrival? {
        switch reader.read(bytes) {
        case .needsMore:
            stage = .readingForm(reader, head)
            return nil
        case .form(let form): return .form(form, head)
        case .bad(let refusal): return .refused(refusal)
        }
    }

    /// Reads the form that follows the head. A part of it may already have arrived.
    mutating func readForm(_ length: Int, of head: RequestHead) -> Arrival? {
        read(form: FormReader(length: length), of: head, behindHead)
    }

    private mutating func drop(_ scratch: inout [UInt8]) {
        guard let count = receive(&scratch) else { return }
        if count == 0 { stage = .over }
    }

    /// Receives bytes. Returns their number, or 0 at the end. Returns nil if there is no data or the connection failed.
    private mutating func receive(_ scratch: inout [UInt8]) -> Int? {
        let count = recv(descriptor, &scratch, scratch.count, 0)
        if count < 0 {
            if errno != EAGAIN && errno != EINTR { stage = .over }
            return nil
        }
        return count
    }

    mutating func park(_ head: RequestHead, parameters: String) {
        (stage, deadline) = (.parked(head, parameters: parameters), nil)
    }

    mutating func hold(_ head: RequestHead) { (stage, deadline) = (.held(head), nil) }

    /// Sends as much of a response as the peer accepts now. The rest follows after poll.
    mutating func respond(_ response: RedirectResponse, isPage: Bool = false, now: Instant) {
        (carriesPage, behindHead) = (isPage && !isAbandoned, [])
        stage = .sending(response.bytes, from: 0)
        deadline = now + limits.requestTime
        send(now: now)
    }

    private mutating func send(now: Instant) {
        guard case .sending(let bytes, var position) = stage else { return }
        while position < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Glibc.send(
                    descriptor, bytes.baseAddress.map { $0 + position }, bytes.count - position, Int32(MSG_NOSIGNAL))
            }
            if count < 0 {
                if errno == EINTR { continue }
                stage = errno == EAGAIN ? .sending(bytes, from: position) : .over
                return
            }
            position += count
        }
        shims_end_sending(descriptor)
        isSent = true
        (stage, deadline) = (.seeingOff, now + limits.farewellTime)
    }

    /// Ends a stage that has exceeded its deadline.
    mutating func expire(now: Instant) {
        guard let deadline, deadline <= now else { return }
        // RFC 9110 §15.5.9. An empty connection was opened in advance by the browser and is closed without a response.
        switch stage {
        case .reading(let reader) where reader.isEmpty: stage = .over
        case .reading, .readingForm: respond(.plain(408), now: now)
        case .parked, .held, .sending, .seeingOff, .over: stage = .over
        }
    }
}
