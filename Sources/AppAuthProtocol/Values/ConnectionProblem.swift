/// Why no request could be sent to a server, as far as it decides what the user can do: see ``AuthError/connectionProblem``.
package enum ConnectionProblem: Sendable, Hashable {
    /// No address was found for the host.
    case nameUnresolved
    /// No connection was made.
    case unreachable
    /// The proxy did not make the connection.
    case proxy
    /// The proxy did not authenticate the user.
    case proxyAuthentication
    /// TLS could not be agreed on.
    case tls
    /// The chain of the certificate ends in none of the trusted ones.
    case untrustedRoot
    /// The certificate is not valid at this computer's time.
    case certificateDate
    /// The certificate is for another host.
    case certificateHost
    /// The certificate is not trusted for another reason.
    case certificate
    /// The files of trusted certificates cannot be used.
    case roots
    /// The server on loopback belongs to another user.
    case otherUser

    /// Whether the certificate is the reason. Waiting seldom helps.
    var isOfCertificate: Bool {
        [.untrustedRoot, .certificateDate, .certificateHost, .certificate].contains(self)
    }
}
