internal import FoundationEssentials
package import HTTPTypes
internal import JOSE
internal import Logging

extension Environment {
    /// Sends a request. Errors carry the stage of the flow; an app's own transport error becomes an ``AuthError``.
    package func send(_ request: TransportRequest, stage: AuthError.Stage) async throws -> TransportResponse {
        logger.debug("\(stage.rawValue): \(request.head.method) \(request.head.target)")
        let (observer, start) = (self[ExchangeObserver.self], ContinuousClock.now)
        func show(_ step: ObservedExchange.Step) { observer.observe(.init(stage: stage, request: request, step: step)) }
        show(.sending)
        do {
            let response = try await transport.send(request)
            show(.received(response, after: .now - start))
            logger.debug("\(stage.rawValue): \(response.status.code), \(response.body.count) bytes")
            // A resource server may belong to anyone, so its clock does not count.
            if stage != .resource { serverClocks.note(response, to: request.head, at: now()) }
            return response
        } catch {
            show(.failed(after: .now - start))
            if error is CancellationError { throw error }
            var failure =
                error as? AuthError
                ?? AuthError(
                    .transport, stage, "the HTTP client failed: \(AuthError.summary(of: error))",
                    outcome: .perhapsProcessed, isTemporary: true)
            failure.stage = stage
            logger.info("\(stage.rawValue): \(failure)")
            throw failure
        }
    }

    /// Fetches a public JSON document: metadata or keys.
    ///
    /// - Throws: ``AuthError``; for a status other than 200 with ``AuthError/httpStatus``.
    package func document(
        at url: SecureURL, stage: AuthError.Stage, accepting type: String = "application/json"
    ) async throws -> (json: JSON, lifetime: Duration) {
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = type
        let response = try await send(TransportRequest(request, limits: .document), stage: stage)
        guard response.status == .ok else {
            var error = response.unexpectedStatus(from: url, stage: stage)
            // The message says where the document may be, or why there is none. The request had no secret that the server could
            // repeat.
            if response.status.kind == .redirection, let target = response.headerFields[.location] {
                error.message += ", here to \(target.foundText)"
            } else if response.status != .notFound, let words = response.words(hiding: []) {
                error.message += ": \(words)"
            }
            throw error
        }
        do { return (try response.parsedBody, response.cacheLifetime) } catch {
            let type = response.mediaType ?? ""
            let found = type.hasSuffix("json") || type.isEmpty ? "\(error)" : "\(type.foundText), no JSON"
            throw AuthError(.invalidResponse, stage, "\(url.string): \(found)", httpStatus: 200)
        }
    }
}

extension HTTPRequest {
    /// The URL without its query, for logs and messages.
    var target: String { "\(scheme ?? "")://\(authority ?? "")\((path ?? "").prefix { $0 != "?" })" }

    /// Creates a request for a URL.
    package init(method: Method, url: SecureURL) {
        self.init(method: method, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
    }
}

extension HTTPResponse.Status {
    /// Whether the same request may succeed later: not with 501, which says that the server cannot do it at all (RFC 9110
    /// §15.6.2).
    package var isTemporary: Bool {
        self != .notImplemented && code >= 500 || [.requestTimeout, .tooEarly, .tooManyRequests].contains(self)
    }
}

extension TransportResponse {
    /// The body as JSON. Some servers begin it with a byte order mark, which may be ignored (RFC 8259 §8.1).
    package var parsedBody: JSON {
        get throws {
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            return try JSON(parsing: body.starts(with: mark) ? Array(body.dropFirst(mark.count)) : body)
        }
    }

    /// The media type in lower case, without its parameters.
    package var mediaType: String? {
        headerFields[.contentType]?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercasedASCII
    }

    /// Returns an error for an unexpected status. This includes redirects: the library never follows one, because it
    /// would take credentials or trust to another host.
    package func unexpectedStatus(
        from url: SecureURL, stage: AuthError.Stage, expected: HTTPResponse.Status = .ok
    ) -> AuthError {
        let code = status.code
        let hint = status.kind == .redirection ? ", redirects are never followed" : ""
        return AuthError(
            .invalidResponse, stage, "expected status \(expected.code) from \(url.place), found \(code)\(hint)",
            outcome: code >= 500 || status.kind == .successful ? .perhapsProcessed : .refused,
            isTemporary: status.isTemporary, httpStatus: code, retryAfter: retryAfter)
    }

    /// The seconds of `Retry-After` (RFC 9110 §10.2.3), at most a day. If the field is a date, it is compared with the
    /// response's own `Date`.
    package var retryAfter: Int? {
        guard let field = headerFields[.retryAfter] else { return nil }
        let untilDate = Date(httpDate: field).flatMap { date in
            headerFields[.date].flatMap(Date.init(httpDate:)).map { Int(date.timeIntervalSince($0)) }
        }
        return (Int(field) ?? untilDate).flatMap { $0 >= 0 ? min($0, 86_400) : nil }
    }

    /// How long the document may be kept: `max-age` of Cache-Control, limited to 5 minutes up to a day. Without
    /// `max-age`, a day; with `no-store` or `no-cache`, 5 minutes.
    package var cacheLifetime: Duration {
        let directives = headerFields[values: .cacheControl].joined(separator: ",").lowercased()
            .split(separator: ",").map { $0.filter { $0 != " " } }
        let (shortest, longest) = (300, 86_400)
        if directives.contains("no-store") || directives.contains("no-cache") { return .seconds(shortest) }
        let maximumAge = directives.first { $0.hasPrefix("max-age=") }.flatMap { Int($0.dropFirst("max-age=".count)) }
        return .seconds(min(max(maximumAge ?? longest, shortest), longest))
    }
}
