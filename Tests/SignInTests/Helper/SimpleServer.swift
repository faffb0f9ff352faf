import AppAuthConcurrency
import Foundation

/// A request of a program that has asked a credential helper.
struct SimpleRequest: Sendable {
    let method: String
    /// The path and query.
    let target: String
    /// By lowercase names.
    let headers: [String: String]
    let body: [UInt8]

    /// The user name and password of basic authentication.
    var basic: (user: String, password: String)? {
        guard let field = headers["authorization"], field.hasPrefix("Basic "),
            let data = Data(base64Encoded: String(field.dropFirst("Basic ".count)))
        else { return nil }
        let parts = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }
}

struct SimpleResponse: Sendable {
    var status = "200 OK"
    var headers: [(String, String)] = []
    var body: [UInt8] = []

    static let basicChallenge = SimpleResponse(
        status: "401 Unauthorized", headers: [("WWW-Authenticate", #"Basic realm="test""#)])
}

/// An HTTP/1.1 server on loopback for one request per connection. Each connection has a thread of its own.
final class SimpleServer: Sendable {
    private let listener: CInt
    let port: UInt16
    private let received = LockedValue<[SimpleRequest]>([])
    /// Whether the listener is open. A closed one may have its number given to another test's file.
    private let isOpen = LockedValue(true)

    var requests: [SimpleRequest] { received.withLock { $0 } }
    /// The host and port, as in a URL.
    var host: String { "127.0.0.1:\(port)" }

    init(_ respond: @escaping @Sendable (SimpleRequest) throws -> SimpleResponse) throws {
        let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        (address.sin_family, address.sin_addr) = (sa_family_t(AF_INET), in_addr(s_addr: UInt32(0x7F00_0001).bigEndian))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        (self.listener, port) = (listener, UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [received, isOpen] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                Thread.detachNewThread {
                    defer { close(connection) }
                    guard let request = Self.read(connection) else {
                        return Self.write(SimpleResponse(status: "400 Bad Request"), to: connection)
                    }
                    received.withLock { $0.append(request) }
                    let failure = SimpleResponse(status: "500 Internal Server Error")
                    Self.write((try? respond(request)) ?? failure, to: connection)
                }
            }
            isOpen.withLock { isOpen in
                isOpen = false
                close(listener)
            }
        }
    }

    deinit { stop() }

    func stop() {
        isOpen.withLock { isOpen in
            if isOpen { shutdown(listener, CInt(SHUT_RDWR)) }
        }
    }

    private static func read(_ connection: CInt) -> SimpleRequest? {
        var bytes: [UInt8] = []
        func readMore() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = recv(connection, &buffer, buffer.count, 0)
            if count > 0 { bytes += buffer[..<count] }
            // A client that tries TLS first sends a handshake record.
            return count > 0 && bytes.first != 0x16
        }
        let end = Array("\r\n\r\n".utf8)
        while bytes.firstRange(of: end) == nil { guard readMore() else { return nil } }
        guard let headEnd = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<headEnd.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].components(separatedBy: " ")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let name = line.prefix { $0 != ":" }
            headers[name.lowercased()] = line.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
        let length = Int(headers["content-length"] ?? "0") ?? 0
        while bytes.count < headEnd.upperBound + length { guard readMore() else { return nil } }
        let body = Array(bytes[headEnd.upperBound...])
        return SimpleRequest(method: words[0], target: words[1], headers: headers, body: body)
    }

    private static func write(_ response: SimpleResponse, to connection: CInt) {
        let fields = response.headers + [("Content-Length", "\(response.body.count)"), ("Connection", "close")]
        let head = "HTTP/1.1 \(response.status)\r\n" + fields.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
        var rest = (Array(head.utf8) + response.body)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}
