import Dispatch
import Glibc
import Testing

/// A browser's socket, down to its single bytes. Its calls block: use it inside ``onThread(_:)``.
final class WireClient: Sendable {
    let descriptor: Int32

    init(_ port: UInt16, v6: Bool = false) throws {
        descriptor = socket(v6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        limitReads()
        let result = v6 ? Self.connectV6(descriptor, port) : Self.connectV4(descriptor, port)
        guard result == 0 else { throw WireError(number: errno) }
    }

    /// - Parameter descriptor: A connected socket, which the client closes.
    init(connected descriptor: Int32) {
        self.descriptor = descriptor
        limitReads()
    }

    deinit { close(descriptor) }

    private func limitReads() {
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    static func connectV4(_ descriptor: Int32, _ port: UInt16) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    private static func connectV6(_ descriptor: Int32, _ port: UInt16) -> Int32 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size))
            }
        }
    }

    /// Sends everything; false if the other side has closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Ends only the sending side.
    func shutDownSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Ends the connection by a reset (connect(2), AF_UNSPEC).
    func reset() {
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Everything until the other side closes; then this side closes too, as browsers do.
    func readAll() throws -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count == 0 {
                shutDownSending()
                return all
            }
            guard count > 0 else { throw WireError(number: errno) }
            all += buffer[..<count]
        }
    }

    /// The one response, up to the end of the connection.
    func response() throws -> WireResponse { try WireResponse(try readAll()) }

    /// Whether there is something to read, or the end, within some time.
    func isReadable(within milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&polled, 1, milliseconds) > 0
    }
}

struct WireError: Error { var number: Int32 }

/// A response, taken apart without mercy.
struct WireResponse: Sendable {
    let status: Int
    let fields: [String: String]
    let body: String

    init(_ bytes: [UInt8]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        let end = try #require(text.firstRange(of: "\r\n\r\n"), "no head in \(text.count) characters")
        let lines = text[..<end.lowerBound].split(separator: "\r\n").map(String.init)
        let words = lines[0].split(separator: " ", maxSplits: 2)
        try #require(words[0] == "HTTP/1.1")
        status = try #require(Int(words[1]))
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let colon = try #require(line.firstRange(of: ": "))
            let name = line[..<colon.lowerBound].lowercased()
            try #require(fields[name] == nil, "\(name) repeated")
            fields[name] = String(line[colon.upperBound...])
        }
        self.fields = fields
        body = String(text[end.upperBound...])
        try #require(fields["content-length"] == "\(body.utf8.count)", "the response came whole")
    }

    subscript(_ name: String) -> String? { fields[name] }
}

/// Runs blocking work on a thread of its own, so that the tasks of the test continue.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "blocking").async { continuation.resume(with: Result(catching: body)) }
    }
}

/// A request as browsers write it.
func request(_ target: String, host: String, method: String = "GET", fields: [String] = []) -> String {
    (["\(method) \(target) HTTP/1.1", "Host: \(host)"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
}
