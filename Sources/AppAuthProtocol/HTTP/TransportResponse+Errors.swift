package import HTTPTypes
internal import JOSE

extension TransportResponse {
    /// Whether the server has accepted a POST. The specifications ask for 200 in one place and for 201 or 204 in another,
    /// and servers mix them up. Whether a body is required, and which, is checked where it is read.
    package var isAccepted: Bool { Self.successes.contains(status) && !isErrorWithoutStatus }

    private static let successes: Set<HTTPResponse.Status> = [.ok, .created, .noContent]

    /// Whether a response with the status of a success is an error (RFC 6749 §5.2), as several servers send it, GitHub
    /// among them: it has an `error` or `errors`, and nothing that was requested.
    private var isErrorWithoutStatus: Bool {
        guard Self.successes.contains(status), let members = (try? parsedBody)?.object else { return false }
        let isError = ["error", "errors"].contains { name in
            members[nonEmpty: name].flatMap { Self.sentence(in: .object([name: $0])) } != nil
        }
        return isError && Self.requested.allSatisfy { members[nonEmpty: $0] == nil }
    }

    /// What a response to a POST can have been requested for.
    private static let requested = [
        "access_token", "refresh_token", "device_code", "client_id", "request_uri", "auth_req_id",
    ]

    /// Whether the body is an HTML page. Some servers send a plain text as `text/html`.
    var isPage: Bool {
        mediaType == "text/html" && body.first { $0 > 0x20 } == UInt8(ascii: "<")
    }

    /// Whether the response is one of a gateway or of a network's log-in page, in place of the token endpoint's: a page with a
    /// status that the endpoint has for no page, or a redirect that is not for good. The next request may reach the endpoint.
    /// A JSON object is from the endpoint itself, even if its media type is that of a page.
    var isFromBetween: Bool {
        if status.kind == .redirection { return ![.movedPermanently, .permanentRedirect].contains(status) }
        return mediaType == "text/html" && [.ok, .forbidden].contains(status) && (try? parsedBody)?.object == nil
    }

    /// Returns the OAuth error of a response (RFC 6749 §5.2), or an error about the status if it has none.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - stage: The step of the flow.
    ///   - secrets: Texts that the error must not repeat, in addition to those that ``ClientEndpoint`` sent.
    ///   - expected: The status of a success.
    package func oauthError(
        from url: SecureURL, stage: AuthError.Stage, hiding secrets: [Secret] = [],
        expected: HTTPResponse.Status = .ok
    ) -> AuthError {
        let (code, secrets) = (status.code, self.secrets + secrets)
        guard (400..<600).contains(code) || isErrorWithoutStatus,
            let server = oauthErrorInBody(hiding: secrets) ?? oauthErrorInChallenge(hiding: secrets)
        else {
            var error = unexpectedStatus(from: url, stage: stage, expected: expected)
            if isErrorWithoutStatus {
                error.message = "expected a success from \(url), found an error with the status \(code)"
            }
            if code >= 400 || isErrorWithoutStatus, let words = words(hiding: secrets) { error.message += ": \(words)" }
            return error
        }
        let isServerTrouble = ["temporarily_unavailable", "server_error"].contains(server.error)
        // Beside the status 200, only the code tells a rejection from trouble of the server.
        let isOfServer = code >= 500 || code < 400 && isServerTrouble
        return AuthError(
            AuthError.Code(server: server.error), stage, "the provider returned \(server.summary)",
            outcome: isOfServer ? .perhapsProcessed : .refused,
            isTemporary: status.isTemporary || isServerTrouble || server.error == "slow_down",
            server: server, httpStatus: code, retryAfter: retryAfter)
    }

    /// Returns the error of an API for a status other than 2xx, with the response. RFC 6750 §3.
    ///
    /// - Parameter request: The request, if it is known.
    package func apiError(to request: HTTPRequest? = nil) -> AuthError {
        let code = status.code
        // Many APIs have an `error` that is no code but a sentence.
        let inBody = oauthErrorInBody(hiding: secrets).flatMap { $0.error.contains(" ") ? nil : $0 }
        let inChallenge = oauthErrorInChallenge(hiding: secrets)
        let server = inChallenge ?? inBody
        let words = server?.summary ?? words(hiding: secrets)
        let hint = status.kind == .redirection ? ". Redirects are never followed" : words.map { ": \($0)" } ?? ""
        var error = AuthError(
            // In a body, a code has the API's own meaning: its `access_denied` is no denied sign-in.
            inChallenge.map { AuthError.Code(server: $0.error) } ?? .invalidResponse, .resource,
            "the API\(request.map { " at \($0.target)" } ?? "") returned \(code)\(hint)",
            outcome: code >= 500 ? .perhapsProcessed : .refused, isTemporary: status.isTemporary,
            server: server, httpStatus: code, retryAfter: retryAfter)
        error.response = self
        return error
    }

    /// The server's own words about its error, in quotes.
    func words(hiding secrets: [Secret]) -> String? {
        explanation.map { Redaction(of: secrets).applied(to: $0).foundSentence }
    }

    /// What a server says about its error: in JSON, in a plain text, or as the title of a page, which often is not the server's
    /// but a firewall's.
    private var explanation: String? {
        guard let json = try? parsedBody else {
            // Far more than is shown, so that no token at the cut is shown in part.
            let text = String(decoding: body.prefix(64 << 10), as: UTF8.self)
            if isPage {
                return text.firstMatch(of: /<title[^>]{0,99}>\s{0,99}([^<\s][^<]{0,999})/.ignoresCase())
                    .map { $0.1.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
            }
            return mediaType == "text/plain" ? text.split(whereSeparator: \.isNewline).first.map(String.init) : nil
        }
        return json.string == nil ? Self.sentence(in: json) ?? json["hint"]?.string : nil
    }

    /// The members in which servers explain an error, in JSON of their own or as problem details (RFC 9457 §3.1).
    private static let explaining = [
        "detail", "error_description", "errorSummary", "errorMessage", "message", "Message", "msg", "error", "title",
        "fault", "faultstring", "errors",
    ]

    /// Returns the explanation in such a member, or in the first element of a list. A server decides how deep its JSON is.
    private static func sentence(in json: JSON, depth: Int = 4) -> String? {
        if let text = json.string { return text.isEmpty ? nil : text }
        guard depth > 0 else { return nil }
        if let first = json.array?.first { return sentence(in: first, depth: depth - 1) }
        guard let members = json.object else { return nil }
        for name in explaining {
            guard let found = members[name] else { continue }
            if let text = sentence(in: found, depth: depth - 1) { return text }
            // Some list the errors by the name of a parameter.
            if name == "errors", let first = found.object?.members.first,
                let text = sentence(in: first.value, depth: depth - 2)
            {
                return text
            }
        }
        return nil
    }

    private func oauthErrorInBody(hiding secrets: [Secret]) -> OAuthError? {
        guard var members = (try? parsedBody)?.object,
            let code = members[nonEmpty: "error"]?.string ?? Self.pendingCode(in: members)
        else { return nil }
        // Several servers have their explanation in a member of their own, or a hint beside it.
        let (stated, hint) = (members[nonEmpty: "error_description"]?.string, members[nonEmpty: "hint"]?.string)
        members["error"] = nil
        let words = [stated ?? Self.sentence(in: .object(members)), hint].compactMap(\.self)
        return OAuthError(
            error: code, errorDescription: words.joined(separator: " "), errorURI: members["error_uri"]?.string,
            hiding: secrets)
    }

    /// The code of RFC 8628 §3.5 in another member. Twitch has it in `message`, and others in `detail`.
    private static func pendingCode(in members: JSON.Object) -> String? {
        ["authorization_pending", "slow_down"].first { code in members.members.contains { $0.value.string == code } }
    }

    /// If a token was presented, the error is in the challenge (RFC 6750 §3).
    private func oauthErrorInChallenge(hiding secrets: [Secret]) -> OAuthError? {
        let challenges = headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
        guard let parameters = challenges.first(where: { $0.parameters["error"] != nil })?.parameters else {
            return nil
        }
        return parameters["error"].map {
            OAuthError(
                error: $0, errorDescription: parameters["error_description"], errorURI: parameters["error_uri"],
                hiding: secrets)
        }
    }
}
