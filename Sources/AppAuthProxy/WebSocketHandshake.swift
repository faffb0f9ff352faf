internal import AppAuth
internal import CLibcrypto
internal import FoundationEssentials
internal import HTTPTypes

/// The opening handshake of a WebSocket (RFC 6455 §4). What follows it is passed on unread, in both directions. So the proxy
/// checks that the server has taken part: another server would take the client's bytes for requests, with the session's token
/// (RFC 9112 §11.2).
struct WebSocketHandshake: Sendable {
    /// What the server responds to the client's key.
    private let accept: String

    /// Reads the client's part; nil if the request asks for no WebSocket.
    init?(_ head: RequestHead) throws(ProxyResponse) {
        let fields = Dictionary(grouping: head.fields, by: \.name).mapValues { $0.map(\.value) }
        let protocols = (fields["upgrade"] ?? []).map { $0.lowercased() }
        guard protocols.contains(where: { $0.contains("websocket") }) else { return nil }
        // §4.2.1. The server checks the version, since its response says which it has.
        guard head.method == "GET", !head.isVersion10, protocols == ["websocket"],
            head.fields.connectionOptions.contains("upgrade"), (try? BodyFraming(head)) == .noBody,
            let keys = fields["sec-websocket-key"], keys.count == 1, Data(base64Encoded: keys[0])?.count == 16
        else {
            throw ProxyResponse(
                400, "bad_request",
                "Expected the handshake of a WebSocket: a GET with 'Connection: Upgrade' and one Sec-WebSocket-Key.")
        }
        accept = Self.accept(keys[0])
    }

    /// Throws unless the server has accepted (§4.1), and frames nothing (RFC 9110 §8.6, RFC 9112 §6.1): libcurl would take a
    /// length as the end.
    func check(_ response: HTTPResponse) throws(ProxyResponse) {
        let fields = response.headerFields
        let options = fields[values: .connection].map { RequestHead.Field(name: "connection", value: $0) }
            .connectionOptions
        guard fields[values: .upgrade].map({ $0.lowercased() }) == ["websocket"], options.contains("upgrade"),
            fields[values: .secWebSocketAccept] == [accept], !fields.contains(.contentLength),
            !fields.contains(.transferEncoding)
        else {
            throw ProxyResponse(
                502, "invalid_response", "The server responded with 101, but not with the handshake of a WebSocket.")
        }
    }

    /// §4.2.2, step 5.4.
    private static func accept(_ key: String) -> String {
        let text = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
        let hash = [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { out, count in
            let done = EVP_Digest(text, text.count, out.baseAddress, nil, EVP_sha1(), nil)
            precondition(done == 1, "libcrypto always has SHA-1")
            count = Int(SHA_DIGEST_LENGTH)
        }
        return Data(hash).base64EncodedString()
    }
}
