public import AppAuthProtocol

/// The certificate by which a client proves who it is on the connection itself (RFC 8705), and its private key.
///
/// ```swift
/// let certificate = ClientCertificate(file: "/etc/my-app/client.pem", keyFile: "/etc/my-app/client.key")
/// var environment = Environment.live
/// environment.transport = CurlTransport(.init(clientCertificate: certificate))
/// ```
/// Every server that asks for a certificate is shown it: use a transport of its own for servers that should not see it.
public struct ClientCertificate: Sendable, Hashable {
    /// The path of the certificate in PEM; those that lead to its root may follow it.
    public var file: String
    /// The path of the private key in PEM; nil if it is in ``file`` too.
    public var keyFile: String?
    /// What the key is encrypted with; nil for one that is not. Nobody is ever asked on a terminal.
    public var passphrase: Secret?

    /// Names the files. They are read with each new connection.
    public init(file: String, keyFile: String? = nil, passphrase: Secret? = nil) {
        (self.file, self.keyFile, self.passphrase) = (file, keyFile, passphrase)
    }
}
