internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// The failure of a transfer, and its meaning for the caller.
struct CurlFailure: Sendable {
    /// libcurl's code.
    var code: shims_curl_code
    /// libcurl's message for this failure. It may be empty.
    var detail: String
    /// libcurl's description of the code.
    var meaning: String
    /// The `errno` of the last failed call, or 0.
    var systemError: CInt = 0
    /// The status of the proxy's last response to CONNECT, or 0.
    var connectStatus: CInt = 0
    /// Whether some of the request may have been sent. False until the connection, with TLS and proxy, is made.
    var requestBegan: Bool
    /// Whether a status line of HTTP has arrived.
    var responseBegan = false
    /// The limit of this library that ended the transfer, if any.
    var exceeded: Limit?
    /// The user that the server on loopback belongs to, if it was not sent the request for that reason.
    var foreignUser: UInt32?

    /// Whether the chain of the server's or the proxy's certificate ends in none of the trusted ones.
    var lacksRoot: Bool {
        code == SHIMS_CURLE_PEER_FAILED_VERIFICATION && !requestBegan
            && ["issuer certificate", "self-signed", "self signed"].contains(where: detail.contains)
    }

    /// A limit that this library enforces.
    enum Limit { case body, header }

    /// Returns the error for the caller. It contains the host but no other part of the URL.
    func error(target: HTTPTarget, limits: HTTPLimits) -> AuthError {
        var error = described(target: target, limits: limits)
        if error.outcome == .notSent { error.connectionProblem = problem(target) }
        return error
    }

    /// The reason why the request was not sent, if it is a known one.
    private func problem(_ target: HTTPTarget) -> ConnectionProblem? {
        if foreignUser != nil { return .otherUser }
        func says(_ words: String...) -> Bool { words.contains(where: detail.contains) }
        switch code {
        case SHIMS_CURLE_SSL_CACERT_BADFILE: return .roots
        case _ where connectStatus == 407: return .proxyAuthentication
        case SHIMS_CURLE_COULDNT_RESOLVE_PROXY, SHIMS_CURLE_PROXY: return .proxy
        case _ where connectStatus >= 300: return .proxy
        case SHIMS_CURLE_COULDNT_RESOLVE_HOST: return .nameUnresolved
        case SHIMS_CURLE_COULDNT_CONNECT: return isOfProxy(target) ? .proxy : .unreachable
        case SHIMS_CURLE_PEER_FAILED_VERIFICATION where lacksRoot: return .untrustedRoot
        case SHIMS_CURLE_PEER_FAILED_VERIFICATION:
            if says("expired", "not yet valid") { return .certificateDate }
            return says("subject name", "host name") ? .certificateHost : .certificate
        case SHIMS_CURLE_SSL_CONNECT_ERROR: return .tls
        case SHIMS_CURLE_OPERATION_TIMEDOUT: return .unreachable
        default: return nil
        }
    }

    /// Whether a connection that was not made is one to the proxy: if libcurl's message names another host than the target.
    private func isOfProxy(_ target: HTTPTarget) -> Bool {
        !detail.isEmpty && !detail.contains(target.host.filter { !"[]".contains($0) })
    }

    private func described(target: HTTPTarget, limits: HTTPLimits) -> AuthError {
        let host = target.host
        if let foreignUser { return .foreignServer(target.hostAndPort, of: foreignUser, .configuration) }
        switch (exceeded, code) {
        case (.body, _), (nil, SHIMS_CURLE_FILESIZE_EXCEEDED):
            return invalid("the response from \(host) is larger than \(limits.bodyBytes) bytes")
        case (.header, _):
            return invalid("the header of the response from \(host) is larger than \(limits.headerBytes) bytes")
        case (nil, SHIMS_CURLE_OUT_OF_MEMORY) where requestBegan, (nil, SHIMS_CURLE_TOO_LARGE) where requestBegan:
            // A single line is longer than libcurl's buffer (100 KiB).
            return invalid("a header line of the response from \(host) is longer than libcurl allows")
        case (nil, SHIMS_CURLE_WRITE_ERROR), (nil, SHIMS_CURLE_WEIRD_SERVER_REPLY),
            (nil, SHIMS_CURLE_UNSUPPORTED_PROTOCOL) where requestBegan:
            if responseBegan { return invalid("the response from \(target.hostAndPort) is not valid HTTP: \(words)") }
            return invalid(
                "the response from \(target.hostAndPort) is not HTTP\(target.isSecure ? "" : otherScheme(target))")
        case (nil, SHIMS_CURLE_BAD_CONTENT_ENCODING):
            return invalid("the response from \(host) has a content encoding that could not be decoded")
        case (nil, SHIMS_CURLE_OPERATION_TIMEDOUT):
            return timeout(target, limits)
        case (nil, SHIMS_CURLE_SSL_CACERT_BADFILE):
            return configuration("the trusted certificates could not be loaded: \(words)")
        case (nil, SHIMS_CURLE_SSL_CERTPROBLEM):
            // With a key in a device, libcurl knows only that a callback has failed.
            let hint = detail.contains("ctx callback") ? ". Expected a file in PEM with the certificate of the key" : ""
            return configuration("the client certificate could not be used: \(words)\(hint)")
        case (nil, SHIMS_CURLE_URL_MALFORMAT):
            return configuration("the URL for \(host) is not well formed")
        case (nil, SHIMS_CURLE_UNSUPPORTED_PROTOCOL), (nil, SHIMS_CURLE_NOT_BUILT_IN),
            (nil, SHIMS_CURLE_UNKNOWN_OPTION):
            return AuthError(
                .unavailable, .configuration, "this system’s libcurl lacks a feature: \(words)",
                outcome: .notSent)
        case (nil, SHIMS_CURLE_PEER_FAILED_VERIFICATION) where !requestBegan:
            // Temporary: the log-in page of a network, or a clock that is not set yet, must not end a program that waits.
            return transport("the certificate of \(host) is not trusted: \(words)")
        case _ where connectStatus == 407 && !requestBegan:
            var error = transport("no connection to \(target.hostAndPort): \(Self.unauthenticated)")
            error.httpStatus = Int(connectStatus)
            return error
        default:
            return transport(connection(target))
        }
    }

    private static let unauthenticated = """
        the proxy did not authenticate the user (407). Check the method that it requires, the name and password in its \
        URL, or the Kerberos ticket (klist)
        """

    private func connection(_ target: HTTPTarget) -> String {
        let (host, peer) = (target.host, target.hostAndPort)
        switch code {
        case SHIMS_CURLE_COULDNT_RESOLVE_HOST: return "could not resolve host \(host.foundText)"
        case SHIMS_CURLE_COULDNT_RESOLVE_PROXY: return "could not resolve the proxy for \(host)"
        case SHIMS_CURLE_COULDNT_CONNECT where isOfProxy(target):
            return "could not connect to the proxy for \(peer): \(words)"
        case SHIMS_CURLE_COULDNT_CONNECT where systemError == ECONNREFUSED:
            return "connection to \(peer) refused" + (target.isLoopback ? ": no program listens at that port" : "")
        case SHIMS_CURLE_COULDNT_CONNECT: return "could not connect to \(peer): \(words)"
        case SHIMS_CURLE_GOT_NOTHING: return "\(host) closed the connection without a response"
        case SHIMS_CURLE_PARTIAL_FILE: return "the response from \(host) was cut short"
        case _ where requestBegan: return "the connection to \(host) broke: \(words)"
        case SHIMS_CURLE_SSL_CONNECT_ERROR: return "no TLS connection to \(peer): \(words)\(otherScheme(target))"
        default: return "no connection to \(peer): \(words)"
        }
    }

    /// The likely reason why a server on this machine speaks another protocol than the URL says.
    private func otherScheme(_ target: HTTPTarget) -> String {
        target.isLoopback ? ". The server may speak \(target.isSecure ? "http" : "https")" : ""
    }

    private func timeout(_ target: HTTPTarget, _ limits: HTTPLimits) -> AuthError {
        let message =
            if requestBegan {
                "no complete response from \(target.host) within \(limits.total.inWords)"
            } else if detail.hasPrefix("Resolving") {
                "could not resolve host \(target.host.foundText) within \(min(limits.connect, limits.total).inWords)"
            } else {
                "no connection to \(target.hostAndPort) within \(min(limits.connect, limits.total).inWords)"
            }
        return AuthError(.timeout, .configuration, message, outcome: outcome, isTemporary: true)
    }

    private func transport(_ message: String) -> AuthError {
        AuthError(.transport, .configuration, message, outcome: outcome, isTemporary: true)
    }

    private func invalid(_ message: String) -> AuthError {
        AuthError(.invalidResponse, .configuration, message, outcome: .perhapsProcessed)
    }

    private func configuration(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message)
    }

    private var outcome: AuthError.Outcome { requestBegan ? .perhapsProcessed : .notSent }

    /// libcurl's message without the part that our message already contains.
    private var words: String {
        // libcurl quotes the proxy's URL here, which may contain a password.
        guard !detail.hasPrefix("Unsupported proxy") else { return "the proxy’s URL is not supported" }
        let prefix = ["SSL certificate problem: ", "SSL: "].first(where: detail.hasPrefix) ?? ""
        let words = String(detail.dropFirst(prefix.count))
        // libcurl repeats the names in a certificate as they are.
        return words.isEmpty ? meaning : words.contains("'") ? words.foundSentence : words
    }
}

extension Duration {
    /// The duration in whole milliseconds, rounded up. It is at least one, since zero means no limit to libcurl, and at
    /// most 2,000,000,000.
    package var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }

    /// The duration in words, for example `30 s` or `250 ms`.
    fileprivate var inWords: String {
        let milliseconds = wholeMilliseconds
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
