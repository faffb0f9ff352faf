internal import AppAuthProtocol
internal import CShims
internal import HTTPTypes

/// The libcurl options that all transfers of a transport share.
struct CurlOptions: Sendable {
    var configuration: CurlTransport.Configuration
    var roots: TrustRoots
    var hostsWithoutProxy = NoProxyList("")
    /// The client certificate, if its key is in a device.
    var deviceCertificate: DeviceCertificate?

    /// Sets the options of a handle that was reset.
    func apply(to handle: CurlHandle, _ transfer: CurlTransfer) {
        let (request, target) = (transfer.request, transfer.target)
        handle.set(SHIMS_CURLOPT_URL, target.url)
        handle.set(SHIMS_CURLOPT_PATH_AS_IS, true)
        handle.set(SHIMS_CURLOPT_NOSIGNAL, true)
        handle.set(SHIMS_CURLOPT_FOLLOWLOCATION, false)
        // Before libcurl 7.85, only the bit mask exists. It is deprecated since then.
        if !handle.setIfKnown(SHIMS_CURLOPT_PROTOCOLS_STR, "http,https") {
            handle.set(SHIMS_CURLOPT_PROTOCOLS, Int(SHIMS_CURL_PROTOCOLS_HTTP_HTTPS.rawValue))
        }
        // Since libcurl 7.87: do not wait for an abandoned name resolution.
        _ = handle.setIfKnown(SHIMS_CURLOPT_QUICK_EXIT, 1)
        // With HTTP/2, libcurl 7.88 lets a stream whose reader has stopped hold up all others of its connection.
        let version = request.stream == nil ? SHIMS_CURL_HTTP_VERSION_2TLS : SHIMS_CURL_HTTP_VERSION_1_1
        handle.set(SHIMS_CURLOPT_HTTP_VERSION, Int(version.rawValue))
        handle.set(SHIMS_CURLOPT_SUPPRESS_CONNECT_HEADERS, true)
        // A stream is passed on as it is. If its server has gone without a word, the kernel finds out.
        if request.stream == nil { handle.set(SHIMS_CURLOPT_ACCEPT_ENCODING, "") }
        handle.set(SHIMS_CURLOPT_TCP_KEEPALIVE, request.stream != nil)
        // A server that takes long to read an upload is not silent, but the kernel's limit would end it.
        if request.stream?.body == nil { handle.limitSilence(.seconds(request.stream == nil ? 20 : 120)) }
        // After a change of network, an older connection may lead nowhere.
        handle.set(SHIMS_CURLOPT_MAXAGE_CONN, 30)
        if request.isUpgrade { handle.set(SHIMS_CURLOPT_FORBID_REUSE, true) }
        limit(handle, request)
        secure(handle)
        route(handle, target)
        send(handle, request)
    }

    /// Returns whether the owner of the server is checked. With https, its certificate says who it is.
    func checks(_ target: HTTPTarget) -> Bool {
        configuration.loopbackServers == .ofTrustedUsers && target.isLoopback && !target.isSecure
    }

    private func limit(_ handle: CurlHandle, _ request: TransportRequest) {
        // ``CurlLoop`` enforces the limit of the whole transfer.
        let connect = min(request.limits.connect, request.limits.total)
        handle.set(SHIMS_CURLOPT_CONNECTTIMEOUT_MS, connect.wholeMilliseconds)
        // Ends a transfer early by its Content-Length. A response to HEAD states the length of a body that is not sent.
        if request.head.method != .head {
            handle.set(SHIMS_CURLOPT_MAXFILESIZE_LARGE, offset: request.limits.bodyBytes)
        }
    }

    private func secure(_ handle: CurlHandle) {
        // The same options for the server and for a proxy that is reached over TLS.
        for option in [SHIMS_CURLOPT_SSLVERSION, SHIMS_CURLOPT_PROXY_SSLVERSION] {
            handle.set(option, Int(SHIMS_CURL_SSLVERSION_TLSv1_2.rawValue))
        }
        // RFC 9110 §4.3.4: the certificate must be trusted and name the host (2). The defaults of a libcurl may differ.
        for option in [SHIMS_CURLOPT_SSL_VERIFYPEER, SHIMS_CURLOPT_PROXY_SSL_VERIFYPEER] { handle.set(option, true) }
        for option in [SHIMS_CURLOPT_SSL_VERIFYHOST, SHIMS_CURLOPT_PROXY_SSL_VERIFYHOST] { handle.set(option, 2) }
        if let deviceCertificate {
            handle.setCertificate(deviceCertificate)
        } else if let certificate = configuration.clientCertificate {
            handle.set(SHIMS_CURLOPT_SSLCERT, certificate.file)
            handle.set(SHIMS_CURLOPT_SSLKEY, certificate.keyFile ?? certificate.file)
            // Without a passphrase, libcrypto would prompt on the terminal.
            handle.set(SHIMS_CURLOPT_KEYPASSWD, certificate.passphrase?.reveal() ?? "")
        }
        guard case .chosen(let file, let bundle, let directory, _) = roots else { return }
        for option in [SHIMS_CURLOPT_CAPATH, SHIMS_CURLOPT_PROXY_CAPATH] { handle.set(option, directory) }
        for option in [SHIMS_CURLOPT_CAINFO, SHIMS_CURLOPT_PROXY_CAINFO] { handle.set(option, file) }
        guard let bundle else { return }
        for option in [SHIMS_CURLOPT_CAINFO_BLOB, SHIMS_CURLOPT_PROXY_CAINFO_BLOB] { handle.setBlob(option, bundle) }
    }

    private func route(_ handle: CurlHandle, _ target: HTTPTarget) {
        if target.isLoopback || hostsWithoutProxy.contains(target) { return handle.set(SHIMS_CURLOPT_PROXY, "") }
        switch configuration.proxy {
        case .environment: break
        case .none: handle.set(SHIMS_CURLOPT_PROXY, "")
        case .url(let url): handle.set(SHIMS_CURLOPT_PROXY, url)
        }
        guard target.isSecure else { return }
        switch configuration.proxyAuthentication {
        case .basic: break
        case .digest: handle.set(SHIMS_CURLOPT_PROXYAUTH, Int(SHIMS_CURL_AUTH_DIGEST.rawValue))
        case .ntlm: handle.set(SHIMS_CURLOPT_PROXYAUTH, Int(SHIMS_CURL_AUTH_NTLM.rawValue))
        case .negotiate:
            handle.set(SHIMS_CURLOPT_PROXYAUTH, Int(SHIMS_CURL_AUTH_NEGOTIATE.rawValue))
            // libcurl authenticates only with a user name; the ticket has the real one.
            handle.set(SHIMS_CURLOPT_PROXYUSERPWD, ":")
        }
    }

    private func send(_ handle: CurlHandle, _ request: TransportRequest) {
        let method = request.head.method
        // With these methods, a request without a body states its length (RFC 9110 §8.6).
        let body = request.body ?? ([.post, .put, .patch].contains(method) ? [] : nil)
        if method == .head {
            // Also for a request with a body, of which libcurl would make a PUT.
            handle.set(SHIMS_CURLOPT_NOBODY, true)
        } else if let stream = request.stream, stream.body != nil {
            handle.set(SHIMS_CURLOPT_UPLOAD, true)
            handle.set(SHIMS_CURLOPT_INFILESIZE_LARGE, offset: stream.length ?? -1)
        } else if let body {
            handle.set(SHIMS_CURLOPT_POST, true)
            handle.setBody(body)
        } else {
            handle.set(SHIMS_CURLOPT_HTTPGET, true)
        }
        if method != .head { handle.set(SHIMS_CURLOPT_CUSTOMREQUEST, method.rawValue) }
        // Use a new connection: if the server has just closed a kept one, it may or may not have acted.
        if !request.mayBeRepeated { handle.set(SHIMS_CURLOPT_FRESH_CONNECT, true) }
        let hasBody = body != nil || request.stream?.body != nil
        handle.setHeader(
            lines(request.head.headerFields, hasBody: hasBody)
                + [request.stream?.expectsContinue == true ? "Expect: 100-continue" : "Expect:"]
                // Without a coding, libcurl sends the body as it is.
                + (request.isUpgrade ? ["Connection: Upgrade", "Transfer-Encoding:"] : [])
                // RFC 9110 §10.1.4.
                + (request.head.headerFields.contains(.te) && !request.isUpgrade ? ["Connection: TE"] : []))
    }

    /// Returns `Name: value` for each field. `Name;` sends an empty field, and `Name:` suppresses libcurl's own.
    private func lines(_ fields: HTTPFields, hasBody: Bool) -> [String] {
        var lines: [String] = []
        if hasBody, !fields.contains(.contentType) { lines.append("Content-Type:") }
        if let userAgent = configuration.userAgent, !fields.contains(.userAgent) {
            lines.append("User-Agent: \(userAgent.onOneLine)")
        }
        for field in fields where !CurlOptions.ownFields.contains(field.name.canonicalName) {
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        return lines
    }

    /// The fields that frame the message, which libcurl writes.
    private static let ownFields: Set = ["host", "content-length", "transfer-encoding", "connection", "expect"]
}

extension TransportRequest {
    /// Whether the request asks for another protocol (RFC 9110 §7.8). The body of its stream is what follows the response in
    /// that protocol: the caller writes nothing before the server has responded with 101, and ends it after any other response.
    var isUpgrade: Bool { stream?.body != nil && head.headerFields.contains(.upgrade) }
}
