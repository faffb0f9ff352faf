internal import CShims
internal import Glibc

/// A connection of a client. One task reads, and one writes.
struct ClientSocket: Sendable {
    /// The client has closed the connection, or it is broken.
    struct Gone: Error {}

    let descriptor: Int32
    private let events: SocketEvents

    init(_ descriptor: Int32, _ events: SocketEvents) {
        (self.descriptor, self.events) = (descriptor, events)
        // Each event of a stream is sent at once. For a Unix socket, it fails and is not needed.
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout.size(ofValue: isOn)))
    }

    /// Returns the next bytes; none if the client has ended its side.
    func receive(until deadline: ContinuousClock.Instant? = nil) async throws -> [UInt8] {
        while true {
            let size = 16 << 10
            var number: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                let received = recv(descriptor, buffer.baseAddress, size, 0)
                (count, number) = (max(0, received), received < 0 ? errno : 0)
            }
            switch number {
            case 0: return bytes
            case EAGAIN: try await events.wait(for: .readable, on: descriptor, until: deadline)
            case EINTR: continue
            default: throw Gone()
            }
        }
    }

    func send(_ bytes: [UInt8], until deadline: ContinuousClock.Instant? = nil) async throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch try sendNow(rest) {
            case .some(let count): rest = rest.dropFirst(count)
            case nil: try await events.wait(for: .writable, on: descriptor, until: deadline)
            }
        }
    }

    /// Sends what there is room for. Returns the number of bytes; nil if there is no room.
    func sendNow(_ bytes: ArraySlice<UInt8>) throws(Gone) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count >= 0 { return count }
            if errno == EAGAIN { return nil }
            if errno != EINTR { throw Gone() }
        }
    }

    /// Waits until the client has closed the connection.
    func end() async throws { try await events.wait(for: .end, on: descriptor) }

    /// Ends our side, and waits for the client to read the rest: to close with unread input would reset the connection, and the
    /// client could lose the response.
    func seeOff() async {
        shims_end_sending(descriptor)
        let deadline = ContinuousClock.now + .seconds(1)
        while let bytes = try? await receive(until: deadline), !bytes.isEmpty, .now < deadline {}
    }

    func close() {
        events.forget(descriptor)
        shims_end(descriptor)
    }
}
