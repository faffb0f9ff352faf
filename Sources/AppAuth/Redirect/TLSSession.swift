internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The TLS of one connection, between the bytes of its socket and those of HTTP.
final class TLSSession {
    /// The connection cannot go on.
    struct Failure: Error {
        let obstacle: BrowserObstacle?
    }

    /// Nil if there was no memory for it. Then everything fails.
    private let pointer: OpaquePointer?
    private let tls: ListenerTLS
    private var received = 0
    private var isEstablished = false
    /// More than the handshake of any browser, and more than that and the largest request together.
    static let mostOfHandshake = 64 << 10, mostReceived = 256 << 10

    init(_ tls: ListenerTLS) { (self.tls, pointer) = (tls, shims_tls_session_new(tls.pointer)) }

    deinit { shims_tls_session_free(pointer) }

    /// Takes bytes from the socket.
    ///
    /// - Returns: The plain text in them; nil if there is none yet, and nothing at the end of the connection.
    func open(_ bytes: ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8>? {
        received += bytes.count
        let isTaken = bytes.withUnsafeBufferPointer { shims_tls_put(pointer, $0.baseAddress, $0.count) }
        let limit = isEstablished ? Self.mostReceived : Self.mostOfHandshake
        guard isTaken == 1, received <= limit else { throw Failure(obstacle: nil) }
        var plain: [UInt8] = []
        // The largest record (RFC 8446 §5.1).
        var record = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Int(shims_tls_read(pointer, &record, Int32(record.count)))
            switch count {
            case 1...:
                isEstablished = true
                plain += record[..<count]
            case _ where !plain.isEmpty: return plain[...]
            case SHIMS_TLS_NEEDS_MORE: return nil
            case SHIMS_TLS_ENDED: return []
            case SHIMS_TLS_CERTIFICATE_REFUSED: throw Failure(obstacle: .certificateRefused)
            default: throw Failure(obstacle: nil)
            }
        }
    }

    /// Returns what TLS itself has to send.
    func pending() -> [UInt8] {
        var (all, piece) = ([UInt8](), [UInt8](repeating: 0, count: 16 << 10))
        while case let count = shims_tls_take(pointer, &piece, piece.count), count > 0 { all += piece[..<count] }
        return all
    }

    /// Returns a response as it is sent, with the end of this side; nothing if that fails.
    func seal(_ response: [UInt8]) -> [UInt8] {
        shims_tls_write(pointer, response, response.count) == 1 ? pending() : []
    }
}
