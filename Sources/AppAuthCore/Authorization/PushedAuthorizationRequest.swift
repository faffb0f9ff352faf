internal import HTTPTypes
internal import JOSE

extension AuthorizationRequest {
    /// Sends the request to the provider directly (RFC 9126), so that the browser carries a reference to it alone: nobody
    /// can read or change it there, and it may be of any size.
    ///
    /// One POST, authenticated as at the token endpoint. ``prepared(in:)`` does this where it is due.
    ///
    /// - Returns: The request, whose ``url`` is good once, and for as long as the provider says: mostly a minute.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no such endpoint, the server's
    ///   own code for an OAuth error, ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func pushed(in environment: Environment) async throws -> AuthorizationRequest {
        let url = try client.require(.pushedAuthorizationRequest)
        let endpoint = TokenEndpoint(client: client, environment: environment, proof: proof)
        let answer = try await endpoint.post(pushedParameters, to: url, stage: .authorization)
        // RFC 9126 §2.2: 201, and nothing else.
        guard answer.response.status == .created else {
            let secrets = [state, nonce, options.idTokenHint, client.authentication.secret].compactMap(\.self)
            throw answer.oauthError(from: url, stage: .authorization, hiding: secrets, expected: .created)
        }
        var carried = FormParameters()
        carried.append("client_id", client.id)
        carried.append("request_uri", try Self.requestURI(in: answer))
        return carrying(carried)
    }

    /// RFC 9126 §3: beside a signed request nothing else is sent.
    private var pushedParameters: FormParameters {
        var form = FormParameters()
        let isSigned = !carried.values("request").isEmpty
        for item in carried.items where !isSigned || ["client_id", "request"].contains(item.name) {
            form.append(item.name, item.value)
        }
        return form
    }

    /// RFC 9126 §2.2: a URI of the provider's making, and the seconds that it is good for.
    private static func requestURI(in answer: HTTPAnswer) throws -> String {
        func refusal(_ message: String) -> AuthError {
            AuthError(
                .invalidResponse, .authorization, "the answer to the pushed request is refused: \(message)",
                httpStatus: answer.response.status.code)
        }
        let json: JSON
        do { json = try JSON(parsing: answer.body) } catch { throw refusal("\(error)") }
        guard let uri = json["request_uri"]?.string, !uri.isEmpty, uri.utf8.count <= 2048,
            uri.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw refusal("expected 'request_uri' in visible ASCII characters") }
        guard let seconds = json["expires_in"]?.double, seconds > 0 else {
            throw refusal("expected 'expires_in' to be a number of seconds above 0")
        }
        return uri
    }
}
