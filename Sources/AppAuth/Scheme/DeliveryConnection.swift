internal import CShims
internal import Glibc

/// A connection of a helper. It reads the URL up to the end of the input, and sends a one-word response.
struct DeliveryConnection {
    typealias Instant = ContinuousClock.Instant

    enum Stage {
        case reading([UInt8])
        /// A redirect that arrived before any caller waits for it.
        case parked(String)
        case over
    }

    let descriptor: Int32
    private(set) var stage = Stage.reading([])
    private let deadline: Instant

    init(descriptor: Int32, deadline: Instant) { (self.descriptor, self.deadline) = (descriptor, deadline) }

    /// The events to poll for. A helper that waits for its response sends nothing more.
    var events: Int16 { if case .reading = stage { Int16(POLLIN) } else { 0 } }
    var isOver: Bool { if case .over = stage { true } else { false } }
    var isParked: Bool { if case .parked = stage { true } else { false } }

    /// The time limit for the URL, or nil if it has arrived.
    var end: Instant? { if case .reading = stage { deadline } else { nil } }

    /// Whether a process of another user is the peer.
    var isForeign: Bool {
        var user: UInt32 = 0
        return shims_peer_credentials(descriptor, &user) != 0 || user != geteuid()
    }

    enum Arrival {
        case url(String)
        /// The URL is too long, not text, or cut off.
        case refused
    }

    /// Reads the available bytes.
    mutating func read(_ scratch: inout [UInt8]) -> Arrival? {
        guard case .reading(var bytes) = stage else {
            // No event was requested, so poll reported an error or the end. The redirect is still valid.
            return nil
        }
        stage = .reading([])  // releases the storage, so that it is not copied
        while true {
            let count = recv(descriptor, &scratch, scratch.count, 0)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                stage = .reading(bytes)
                return nil
            }
            if count == 0, let url = String(validating: bytes, as: UTF8.self), !url.isEmpty { return .url(url) }
            // A process that connects and sends nothing only checks whether this listener is alive.
            if count == 0, bytes.isEmpty {
                stage = .over
                return nil
            }
            guard count > 0, bytes.count + count <= RedirectDelivery.largest else { return .refused }
            bytes += scratch[..<count]
        }
    }

    mutating func park(_ url: String) { stage = .parked(url) }

    /// Sends the response and ends the connection. A new socket accepts these few bytes at once.
    mutating func respond(isTaken: Bool) {
        let word = Array((isTaken ? RedirectDelivery.taken : "ignored\n").utf8)
        _ = send(descriptor, word, word.count, Int32(MSG_NOSIGNAL))
        stage = .over
    }

    mutating func expire(now: Instant) {
        if let end, end <= now { stage = .over }
    }
}
