internal import CLibssl
internal import JOSE

/// The files that a provider serves HTTPS with, both in PEM.
package struct TLSFiles: Sendable, Hashable {
    /// The path of the certificate.
    package var certificate: String
    /// The path of its private key.
    package var key: String

    package init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
}

/// What the TLS connections of a listener have in common: TLS 1.2 or newer. Clients are asked for a certificate, and may
/// have none.
final class TLSContext: Sendable {
    /// An SSL_CTX, which OpenSSL lets several threads use.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// - Throws: ``ProviderError`` if the files hold no certificate with its key.
    init(_ files: TLSFiles) throws {
        guard let pointer = clibssl_server_context(files.certificate, files.key) else {
            throw ProviderError("expected a certificate and its key in \(files.certificate) and \(files.key)")
        }
        self.pointer = pointer
    }

    deinit { SSL_CTX_free(pointer) }
}

extension TLSContext {
    /// RFC 8705 §3.3.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        guard context.configuration.tls != nil else { return }
        document["tls_client_certificate_bound_access_tokens"] = true
    }
}
