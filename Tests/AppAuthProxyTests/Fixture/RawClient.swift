import CShims
import Foundation
import TestFixtures

/// A client of a proxy, byte by byte. It waits on threads of its own, at most 20 seconds for each read.
final class RawClient: Sendable {
    struct Ended: Error {}
    struct TimedOut: Error {}

    private let descriptor: CInt

    /// Connects to a Unix socket.
    init(_ path: String) throws {
        descriptor = shims_connect_to(path, 20_000)
        guard descriptor >= 0 else { throw POSIXError(.init(rawValue: -descriptor) ?? .EIO) }
    }

    /// Connects to a port of 127.0.0.1.
    init(port: UInt16) throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in(
            sin_family: sa_family_t(AF_INET), sin_port: port.bigEndian,
            sin_addr: in_addr(s_addr: inet_addr("127.0.0.1")),
            sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
        let descriptor = descriptor
        let result = withUnsafeBytes(of: &address) {
            connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t($0.count))
        }
        guard result == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ text: String) throws { try send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { rest in
                retrying { Glibc.send(descriptor, rest.baseAddress, rest.count, CInt(MSG_NOSIGNAL)) }
            }
            guard count > 0 else { throw Ended() }
            rest = rest.dropFirst(count)
        }
    }

    /// Reads until the text contains another one.
    func read(until end: String) async throws -> String {
        try await onThread { [self] in
            var text: [UInt8] = []
            while !String(decoding: text, as: UTF8.self).contains(end) {
                let bytes = try receive()
                guard !bytes.isEmpty else { throw Ended() }
                text += bytes
            }
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// Reads until the proxy closes the connection.
    func readAll() async throws -> String {
        try await onThread { [self] in
            var text: [UInt8] = []
            while case let bytes = try receive(), !bytes.isEmpty { text += bytes }
            return String(decoding: text, as: UTF8.self)
        }
    }

    /// Reads this many bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        try await onThread { [self] in
            var all: [UInt8] = []
            while all.count < count {
                let bytes = try receive(count - all.count)
                guard !bytes.isEmpty else { throw Ended() }
                all += bytes
            }
            return all
        }
    }

    func endSending() { shutdown(descriptor, CInt(SHUT_WR)) }

    func hangUp() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    func receive(_ most: Int = 65536) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: min(most, 65536)) { buffer, count in
            let received = retrying { recv(descriptor, buffer.baseAddress, min(most, 65536), 0) }
            if received < 0, errno == EAGAIN { throw TimedOut() }
            count = max(0, received)
        }
    }
}

/// Runs blocking work on a thread of its own.
func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}
