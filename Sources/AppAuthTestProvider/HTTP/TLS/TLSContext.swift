internal import CLibssl

/// The certificate files of an HTTPS provider, both in PEM.
public struct TLSFiles: Sendable, Hashable {
    /// The path of the certificate.
    public var certificate: String
    /// The path of its private key.
    public var key: String

    /// Creates the paths of a certificate and its key.
    public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
}

/// The TLS context of a listener: TLS 1.2 or newer. It requests a client certificate, but does not require one.
final class TLSContext: Sendable {
    /// An SSL_CTX, which OpenSSL allows several threads to use.
    nonisolated(unsafe) let pointer: OpaquePointer

    /// - Throws: ``ProviderError`` if the files contain no certificate with its key.
    init(_ files: TLSFiles) throws {
        guard let pointer = clibssl_server_context(files.certificate, files.key) else {
            throw ProviderError("expected a certificate and its key in \(files.certificate) and \(files.key)")
        }
        self.pointer = pointer
    }

    deinit { SSL_CTX_free(pointer) }
}
