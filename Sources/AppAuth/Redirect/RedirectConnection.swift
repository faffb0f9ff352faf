internal import CShims
internal import Glibc

/// One connection: a request comes in, its response goes out whole, and the connection ends.
struct RedirectConnection {
    typealias Instant = ContinuousClock.Instant

    enum Stage {
        case reading(RequestHeadReader)
        case readingForm(FormReader, RequestHead)
        /// A redirect that nobody has asked for yet.
        case parked(RequestHead, parameters: String)
        /// The browser that waits for the outcome.
        case held(RequestHead)
        case sending([UInt8], from: Int)
        /// All is sent and our side is closed; what still comes is dropped until the other side closes too. To close
        /// with input unread would reset the connection, and a browser then loses the page that it has not read yet.
        case seeingOff
        case over
    }

    /// What has come in, and wants a response.
    enum Arrival {
        case head(RequestHead)
        /// The form that was read for a head.
        case form(String, RequestHead)
        case refused(RequestHead.Refusal)
    }

    let descriptor: Int32
    /// Whether another user's program has the other end, as far as the kernel tells.
    private let isForeign: Bool
    private let limits: ListenerLimits
    /// What came together with the head: the begin of a form, if there is one.
    private var behindHead: ArraySlice<UInt8> = []
    private(set) var stage: Stage
    private(set) var deadline: Instant?
    /// Whether the response is the last page, for somebody who is there to read it.
    private(set) var carriesPage = false
    /// Whether the whole response was sent.
    private(set) var isSent = false

    init(descriptor: Int32, isForeign: Bool, limits: ListenerLimits, now: Instant) {
        (self.descriptor, self.isForeign, self.limits) = (descriptor, isForeign, limits)
        stage = .reading(RequestHeadReader(limit: limits.headBytes))
        deadline = now + limits.requestTime
    }

    /// What to poll for.
    var events: Int16 {
        switch stage {
        case .reading, .readingForm, .seeingOff: Int16(POLLIN)
        case .sending: Int16(POLLOUT)
        case .parked, .held, .over: 0
        }
    }

    /// How much would be lost by closing now: where a place is needed, the lowest goes first. Another user's is worth
    /// less than any of this user's.
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

    /// Whether the other side has closed: a browser does so when the person reloads, stops, or closes the tab. It may also
    /// have closed its sending side alone, so that it is answered all the same.
    private var isAbandoned: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// Goes on after poll has reported something.
    mutating func proceed(_ scratch: inout [UInt8], now: Instant) -> Arrival? {
        switch stage {
        case .reading, .readingForm: return read(&scratch)
        case .sending: send(now: now)
        case .seeingOff: drop(&scratch)
        // Nothing was asked for, so it is an error or the end of the connection.
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
        self.stage = .over  // lets go of the reader's storage, so that it is not copied
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

    /// Reads the form that follows the head, of which a part may be here.
    mutating func readForm(_ length: Int, of head: RequestHead) -> Arrival? {
        read(form: FormReader(length: length), of: head, behindHead)
    }

    private mutating func drop(_ scratch: inout [UInt8]) {
        guard let count = receive(&scratch) else { return }
        if count == 0 { stage = .over }
    }

    /// The number of bytes received, 0 at the end; nil if there is nothing now, or nothing any more.
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

    /// Sends a response, as far as the other side takes it at once; the rest follows.
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

    /// Ends what has taken too long.
    mutating func expire(now: Instant) {
        guard let deadline, deadline <= now else { return }
        // RFC 9110 §15.5.9. A connection on which nothing came was opened ahead of need: it is closed without a word.
        switch stage {
        case .reading(let reader) where reader.isEmpty: stage = .over
        case .reading, .readingForm: respond(.plain(408), now: now)
        case .parked, .held, .sending, .seeingOff, .over: stage = .over
        }
    }
}
