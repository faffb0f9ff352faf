import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import NIOCore
import NIOPosix
import Testing

/// One request over a connection of its own, written and read byte by byte: nothing between the test and the wire.
enum Wire {
    /// How the server ended the connection.
    enum End: Equatable { case closed, reset }

    struct Response {
        var bytes: [UInt8]
        let end: End

        private var headEnd: Int? {
            bytes.indices.first { bytes[$0...].starts(with: Array("\r\n\r\n".utf8)) }
        }
        var head: String { String(decoding: bytes.prefix(headEnd ?? bytes.count), as: UTF8.self) }
        var body: [UInt8] { headEnd.map { Array(bytes.dropFirst($0 + 4)) } ?? [] }
        var text: String { String(decoding: body, as: UTF8.self) }
        var status: Int? { head.split(separator: " ").dropFirst().first.flatMap { Int($0) } }

        func headers(_ name: String) -> [String] {
            head.split(separator: "\r\n").dropFirst().compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return String(parts[1].drop { $0 == " " })
            }
        }
        func header(_ name: String) -> String? { headers(name).first }

        var json: JSON? { try? JSON(parsing: body) }
        /// Whether the body is as long as the head says.
        var isComplete: Bool { header("Content-Length").flatMap { Int($0) } == body.count }
    }

    /// Sends bytes and reads to the end of the connection, or until so many bytes have come.
    static func exchange(
        _ bytes: [UInt8], host: String = "127.0.0.1", port: Int, limit: Int = .max
    ) async throws -> Response {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        do {
            return try await channel.executeThenClose { inbound, outbound in
                var received: [UInt8] = []
                do {
                    try await outbound.write(ByteBuffer(bytes: bytes))
                    for try await buffer in inbound {
                        received += buffer.readableBytesView
                        if received.count >= limit { break }
                    }
                    return Response(bytes: received, end: .closed)
                } catch let error as IOError where [ECONNRESET, EPIPE].contains(error.errnoCode) {
                    return Response(bytes: received, end: .reset)
                }
            }
        } catch ChannelError.ioOnClosedChannel {
            // The server was faster than the first byte.
            return Response(bytes: [], end: .closed)
        }
    }

    /// Sends a request that asks for the connection to be closed.
    static func send(
        _ method: String = "GET", _ url: String, _ headers: [(String, String)] = [], body: String? = nil,
        limit: Int = .max
    ) async throws -> Response {
        let parts = try #require(url.wholeMatch(of: /http:\/\/(\[?[0-9a-z.:]+?\]?):(\d+)(\/.*)?/))
        let (host, port) = (String(parts.1), try #require(Int(parts.2)))
        var head = "\(method) \(parts.3 ?? "/") HTTP/1.1\r\nHost: \(host):\(port)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        let address = host == "localhost" ? "127.0.0.1" : String(host.filter { $0 != "[" && $0 != "]" })
        return try await exchange(
            Array((head + "\r\n" + (body ?? "")).utf8), host: address, port: port, limit: limit)
    }

    /// Posts a form.
    static func post(
        _ url: String, _ form: [(name: String, value: String)], _ headers: [(String, String)] = []
    ) async throws -> Response {
        try await send(
            "POST", url, [("Content-Type", "application/x-www-form-urlencoded")] + headers,
            body: FormCoding.encode(form))
    }
}
