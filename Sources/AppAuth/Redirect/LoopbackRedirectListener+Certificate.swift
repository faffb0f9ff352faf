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
