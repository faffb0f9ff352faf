internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The server side of TLS for a listener: TLS 1.2 or newer, without renegotiation and without sessions that are resumed.
final class ListenerTLS: Sendable {
    /// OpenSSL allows several threads to use it.
    nonisolated(unsafe) let pointer: OpaquePointer
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
                throw Self.refusal("expected the certificate’s private key in PEM, not encrypted, in \(keyFile)")
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
                    + (age > 0 ? "has expired: make another one" : "is not valid yet: check this computer’s clock"))
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
        AuthError(.invalidConfiguration, .redirect, message)
    }
}
