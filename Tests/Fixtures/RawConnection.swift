internal import AppAuthConcurrency
package import Foundation
internal import JOSE

/// One connection of a ``RawServer``, used only by its script.
package final class RawConnection: Sendable {
    /// Counted from 0.
    package let number: Int
    private let descriptor: LockedValue<CInt>
    private let buffer = LockedValue<[UInt8]>([])
    private let report: @Sendable (RawRequest) -> Void

    package struct Ended: Error {}

    package init(_ descriptor: CInt, number: Int, report: @escaping @Sendable (RawRequest) -> Void) {
        (self.descriptor, self.number, self.report) = (LockedValue(descriptor), number, report)
    }

    /// Reads a request with its body by `Content-Length`. Throws ``Ended`` if the peer closes before.
    @discardableResult
    package func readRequest() throws -> RawRequest {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = buffer.withLock({ $0.firstRange(of: end) }) {
                let head = buffer.withLock { String(decoding: $0[..<range.lowerBound], as: UTF8.self) }
                var request = RawRequest(head: head, body: [], connection: number)
                let length = request.values("Content-Length").first.flatMap { Int($0) } ?? 0
                while buffer.withLock({ $0.count }) < range.upperBound + length { try receive() }
                buffer.withLock { buffer in
                    request.body = Array(buffer[range.upperBound..<(range.upperBound + length)])
                    buffer.removeFirst(range.upperBound + length)
                }
                report(request)
                return request
            }
            try receive()
        }
    }

    /// Returns what has arrived since the last read. Throws ``Ended`` if the peer closes before.
    package func read() throws -> [UInt8] {
        if buffer.withLock({ $0.isEmpty }) { try receive() }
        return buffer.withLock { buffer in
            defer { buffer = [] }
            return buffer
        }
    }

    /// Sends all of it. Throws ``Ended`` if the peer takes no more.
    package func send(_ text: String) throws { try send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) throws {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { rest in
                retrying { Glibc.send(socket, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { throw Ended() }
            sent += count
        }
    }

    /// A response with a body and its length.
    package func reply(_ status: String = "200 OK", _ fields: [String] = [], body: String = "") throws {
        let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "", body]
        try send(lines.joined(separator: "\r\n"))
    }

    /// Waits until the peer has closed or reset the connection.
    package func waitForEnd() {
        while (try? receive()) != nil {}
    }

    /// Waits for the peer to end the connection, at most so long. Whether it has.
    package func hasEnded(within milliseconds: CInt) -> Bool {
        var entry = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard retrying({ poll(&entry, 1, milliseconds) }) > 0 else { return false }
        return (try? receive()) == nil
    }

    /// Ends the connection so that the peer sees a reset.
    package func reset() {
        var value = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    package func close() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { Glibc.close(descriptor) }
            descriptor = -1
        }
    }

    /// Breaks the connection from another thread, without giving the descriptor back.
    package func shutDown() {
        descriptor.withLock { descriptor in
            if descriptor >= 0 { shutdown(descriptor, CInt(SHUT_RDWR)) }
        }
    }

    package func give(to user: uid_t) { _ = fchown(socket, user, gid_t(user)) }

    private var socket: CInt { descriptor.withLock { $0 } }

    private func receive() throws {
        let size = 65536
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { out, count in
            count = max(0, retrying { recv(socket, out.baseAddress, size, 0) })
        }
        guard !bytes.isEmpty else { throw Ended() }
        buffer.withLock { $0 += bytes }
    }
}
