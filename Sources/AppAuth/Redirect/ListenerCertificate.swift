internal import AppAuthProtocol
internal import CShims
internal import Glibc

extension LoopbackRedirectListener {
    /// The certificate of a listener that speaks https, for providers that accept no other redirect URI. It must be for the
    /// host of the redirect URI, and the browser must trust its authority.
    ///
    /// `mkcert localhost 127.0.0.1 ::1` makes the two files, and `mkcert -install` lets the browsers of this machine trust
    /// them.
    public struct Certificate: Sendable, Hashable {
        /// The path of the certificate in PEM. The certificates of its chain may follow it in the file.
        public var file: String
        /// The path of the private key in PEM, not encrypted; nil if ``file`` contains it too.
        public var keyFile: String?

        /// Creates a certificate from its files, which each listener reads.
        public init(file: String, keyFile: String? = nil) { (self.file, self.keyFile) = (file, keyFile) }
    }
}

/// The server side of TLS for a listener: TLS 1.2 or newer, without renegotiation and without sessions that are resumed.
final class ListenerTLS: Sendable {
    /// OpenSSL allows several threads to use it.
    fileprivate nonisolated(unsafe) let pointer: OpaquePointer
    /// The warning that other users can read the key.
    let obstacle: BrowserObstacle?

    /// Reads and checks a certificate, so that the app learns what a browser would only show to the user.
    ///
    /// - Parameter hosts: The hosts of the redirect URIs.
    init(_ certificate: LoopbackRedirectListener.Certificate, for hosts: [String]) throws {
        let keyFile = certificate.keyFile ?? certificate.file
        let (chain, key) = (try Self.read(certificate.file), try Self.read(keyFile))
        let capacity = 256
        var (problem, text) = (SHIMS_TLS_NO_LIBRARY, [CChar](repeating: 0, count: capacity))
        guard let pointer = shims_tls_new(chain, chain.count, key, key.count, &problem, &text, capacity) else {
            let reason = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            switch problem {
            case SHIMS_TLS_NO_LIBRARY:
                throw AuthError(.unavailable, .redirect, "libssl could not be opened: \(reason)", outcome: .notSent)
            case SHIMS_TLS_NO_CERTIFICATE: throw Self.refusal("expected a certificate in PEM in \(certificate.file)")
            case SHIMS_TLS_NO_KEY:
                throw Self.refusal("expected the certificate's private key in PEM, not encrypted, in \(keyFile)")
            case SHIMS_TLS_OTHER_KEY:
                throw Self.refusal("the key in \(keyFile) is not that of the certificate in \(certificate.file)")
            default: throw Self.refusal("OpenSSL refuses the certificate in \(certificate.file): \(reason)")
            }
        }
        self.pointer = pointer
        obstacle = Self.isReadByOthers(keyFile) ? .keyReadByOthers(keyFile) : nil
        try check(hosts, certificate.file)
    }

    deinit { shims_tls_free(pointer) }

    /// RFC 9525 §6, RFC 5280 §4.1.2.5: what a browser checks, except for its trust in the authority.
    private func check(_ hosts: [String], _ file: String) throws {
        let age = shims_tls_age(pointer)
        guard age == 0 else {
            throw Self.refusal(
                "the certificate in \(file) "
                    + (age > 0 ? "has expired: make another one" : "is not valid yet: check this computer's clock"))
        }
        guard let other = hosts.first(where: { !isFor($0) }) else { return }
        let own = ["localhost", "127.0.0.1", "[::1]"].filter(isFor).joined(separator: ", ")
        throw Self.refusal(
            "the certificate in \(file) is not for \(other), so a browser would refuse it: "
                + (own.isEmpty ? "make one that is" : "use another host (\(own)), or make another certificate"))
    }

    private func isFor(_ host: String) -> Bool {
        shims_tls_is_for(pointer, host.filter { $0 != "[" && $0 != "]" }) == 1
    }

    private static func read(_ path: String) throws -> [UInt8] {
        do { return try InputFile.read(path, atMost: 64 << 10) } catch {
            throw refusal("\(path): \(error.description)")
        }
    }

    private static func isReadByOthers(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & 0o044 != 0
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .redirect, message, outcome: .notSent)
    }
}

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
    /// More than the handshake of any browser and the largest request together.
    static let mostReceived = 64 << 10

    init(_ tls: ListenerTLS) { (self.tls, pointer) = (tls, shims_tls_session_new(tls.pointer)) }

    deinit { shims_tls_session_free(pointer) }

    /// Takes bytes from the socket.
    ///
    /// - Returns: The plain text in them; nil if there is none yet, and nothing at the end of the connection.
    func open(_ bytes: ArraySlice<UInt8>) throws(Failure) -> ArraySlice<UInt8>? {
        received += bytes.count
        let isTaken = bytes.withUnsafeBufferPointer { shims_tls_put(pointer, $0.baseAddress, $0.count) }
        guard isTaken == 1, received <= Self.mostReceived else { throw Failure(obstacle: nil) }
        var plain: [UInt8] = []
        // The largest record (RFC 8446 §5.1).
        var record = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Int(shims_tls_read(pointer, &record, Int32(record.count)))
            switch count {
            case 1...: plain += record[..<count]
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
