public import AppAuthProtocol

/// The certificate and private key that authenticate a client on the TLS connection (RFC 8705).
///
/// ```swift
/// let certificate = ClientCertificate(file: "/etc/my-app/client.pem", keyFile: "/etc/my-app/client.key")
/// var environment = Environment.live
/// environment.transport = CurlTransport(.init(clientCertificate: certificate))
/// ```
/// Every server that requests a certificate receives it. Use a separate transport for servers that must not see it.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate in PEM. The certificates of its chain may follow it in the file.
    public var file: String
    /// The path of the private key in PEM, or nil if ``file`` contains it too. A key in a device has a URI (`handle:0x81000001`,
    /// `pkcs11:…`), or a file with the key that the TPM has wrapped. It is opened with the first request, and signs on the
    /// transport's thread. A proxy that is reached over TLS can request the certificate, too.
    public var keyFile: String?
    /// The passphrase or PIN of the private key, or nil if it has none. The user is never prompted on a terminal.
    public var passphrase: Secret?

    /// Creates a certificate from its files. They are read for each new connection.
    public init(file: String, keyFile: String? = nil, passphrase: Secret? = nil) {
        (self.file, self.keyFile, self.passphrase) = (file, keyFile, passphrase)
    }
}
