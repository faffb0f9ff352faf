internal import FoundationEssentials
package import HTTPTypes
internal import JOSE
internal import Logging

extension Environment {
    /// Sends a request. Errors carry the stage of the flow; those of a foreign transport become ``AuthError``.
    package func send(_ exchange: HTTPExchange, stage: AuthError.Stage) async throws -> HTTPAnswer {
        let request = exchange.request
        logger.debug("\(stage.rawValue): \(request.method) \(request.target)")
        do {
            let answer = try await transport.send(exchange)
            logger.debug("\(stage.rawValue): \(answer.response.status.code), \(answer.body.count) bytes")
            // A resource server may be anybody's.
            if stage != .resource { serverClocks.note(answer, to: request, at: now()) }
            return answer
        } catch let error as CancellationError {
            throw error
        } catch var error as AuthError {
            error.stage = stage
            logger.info("\(stage.rawValue): \(error)")
            throw error
        } catch {
            throw AuthError(
                .transport, stage, "the HTTP client failed: \(type(of: error))", outcome: .perhapsProcessed,
                isTemporary: true)
        }
    }

    /// Gets a JSON document that anybody may read: metadata or keys.
    ///
    /// - Throws: ``AuthError``; for a status other than 200 with ``AuthError/httpStatus``.
    package func document(
        at url: SecureURL, stage: AuthError.Stage, accepting type: String = "application/json"
    ) async throws -> (json: JSON, lifetime: Duration) {
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = type
        let answer = try await send(HTTPExchange(request, limits: .document), stage: stage)
        guard answer.response.status == .ok else { throw answer.unexpectedStatus(from: url, stage: stage) }
        do { return (try JSON(parsing: answer.body), answer.cacheLifetime) } catch {
            throw AuthError(.invalidResponse, stage, "\(url.string): \(error)", httpStatus: 200)
        }
    }
}

extension HTTPRequest {
    /// The URL without its query, for a log.
    fileprivate var target: String { "\(scheme ?? "")://\(authority ?? "")\((path ?? "").prefix { $0 != "?" })" }

    /// A request for a URL.
    package init(method: Method, url: SecureURL) {
        self.init(method: method, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
    }
}

extension HTTPAnswer {
    /// The media type without its parameters, in lower case.
    package var mediaType: String? {
        response.headerFields[.contentType]?.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }.lowercasedASCII
    }

    /// An error for a status that is not the expected one. Redirects are among them: none is ever followed, since it
    /// would take credentials, or trust, to another place.
    package func unexpectedStatus(
        from url: SecureURL, stage: AuthError.Stage, expected: HTTPResponse.Status = .ok
    ) -> AuthError {
        let code = response.status.code
        let place = "\(url.scheme)://\(url.authority)\(url.path)"
        let what =
            switch code {
            case 200..<300: "another success"
            case 300..<400: "a redirect, which is never followed"
            default: "no usable answer"
            }
        return AuthError(
            .invalidResponse, stage, "expected status \(expected.code) from \(place), found \(code): \(what)",
            outcome: code >= 500 ? .perhapsProcessed : .refused, isTemporary: code >= 500 || code == 429,
            httpStatus: code, retryAfter: retryAfter)
    }

    /// `Retry-After` in seconds (RFC 9110 §10.2.3), at most a day. A date is compared with the server's own.
    package var retryAfter: Int? {
        guard let field = response.headerFields[.retryAfter] else { return nil }
        let untilDate = Date(httpDate: field).flatMap { date in
            response.headerFields[.date].flatMap(Date.init(httpDate:)).map { Int(date.timeIntervalSince($0)) }
        }
        return (Int(field) ?? untilDate).flatMap { $0 >= 0 ? min($0, 86_400) : nil }
    }

    /// How long the document may be kept: what its Cache-Control says, within 5 minutes and a day; a day if it says
    /// nothing.
    package var cacheLifetime: Duration {
        let directives = response.headerFields[values: .cacheControl].joined(separator: ",").lowercased()
            .split(separator: ",").map { $0.filter { $0 != " " } }
        let (shortest, longest) = (300, 86_400)
        if directives.contains("no-store") || directives.contains("no-cache") { return .seconds(shortest) }
        let maximumAge = directives.first { $0.hasPrefix("max-age=") }.flatMap { Int($0.dropFirst("max-age=".count)) }
        return .seconds(min(max(maximumAge ?? longest, shortest), longest))
    }
}
