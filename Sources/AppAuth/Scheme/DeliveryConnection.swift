internal import CShims
internal import Glibc

/// One connection of a started helper: the URL comes in, up to the end of what it sends, and a word goes out.
struct DeliveryConnection {
    typealias Instant = ContinuousClock.Instant

    enum Stage {
        case reading([UInt8])
        /// A redirect that nobody has asked for yet.
        case parked(String)
        case over
    }

    let descriptor: Int32
    private(set) var stage = Stage.reading([])
    private let deadline: Instant

    init(descriptor: Int32, deadline: Instant) { (self.descriptor, self.deadline) = (descriptor, deadline) }

    /// What to poll for: a helper that waits for its response sends no more.
    var events: Int16 { if case .reading = stage { Int16(POLLIN) } else { 0 } }
    var isOver: Bool { if case .over = stage { true } else { false } }
    var isParked: Bool { if case .parked = stage { true } else { false } }

    /// When it has to be done; nil where it waits for us.
    var end: Instant? { if case .reading = stage { deadline } else { nil } }

    /// Whether the process at the other end is another user's.
    var isForeign: Bool {
        var user: UInt32 = 0
        return shims_peer_credentials(descriptor, &user) != 0 || user != geteuid()
    }

    enum Arrival {
        case url(String)
        /// Too long, no text, or cut off.
        case refused
    }

    /// Reads what is there.
    mutating func read(_ scratch: inout [UInt8]) -> Arrival? {
        guard case .reading(var bytes) = stage else {
            // Nothing was asked for, so it is an error or the end; a redirect is still good.
            return nil
        }
        stage = .reading([])  // lets go of the storage, so that it is not copied
        while true {
            let count = recv(descriptor, &scratch, scratch.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                stage = .reading(bytes)
                return nil
            }
            if count == 0, let url = String(validating: bytes, as: UTF8.self), !url.isEmpty { return .url(url) }
            // Who connects and says nothing looks whether anybody is there.
            if count == 0, bytes.isEmpty {
                stage = .over
                return nil
            }
            guard count > 0, bytes.count + count <= RedirectDelivery.largest else { return .refused }
            bytes += scratch[..<count]
        }
    }

    mutating func park(_ url: String) { stage = .parked(url) }

    /// Answers, and is over. A fresh socket takes these few bytes at once.
    mutating func respond(isTaken: Bool) {
        let word = Array((isTaken ? RedirectDelivery.taken : "ignored\n").utf8)
        _ = send(descriptor, word, word.count, Int32(MSG_NOSIGNAL))
        stage = .over
    }

    mutating func expire(now: Instant) {
        if let end, end <= now { stage = .over }
    }
}
