internal import HTTPTypes

extension AuthorizationRequest {
    /// Sends the request to the provider directly (RFC 9126), so that the browser carries only a reference to it. The
    /// request cannot be read or changed there, and may be of any size.
    ///
    /// Sends one POST, authenticated as at the token endpoint. ``prepared(in:)`` calls this if necessary.
    ///
    /// - Returns: The request, whose ``url`` is valid once and for as long as the provider says, usually a minute.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no such endpoint, the
    ///   server's own code for an OAuth error, ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func pushed(in environment: Environment) async throws -> AuthorizationRequest {
        let url = try client.require(.pushedAuthorizationRequest)
        let endpoint = ClientEndpoint(client: client, environment: environment, proof: proof)
        let response = try await endpoint.post(pushedParameters, to: url, stage: .authorization)
        guard response.isAccepted else {
            // The server can also read these inside a signed request, and might repeat them.
            let inside = [state, nonce, options.idTokenHint].compactMap(\.self)
            throw response.oauthError(from: url, stage: .authorization, hiding: inside, expected: .created)
        }
        var carried = FormParameters()
        carried.append("client_id", client.id)
        let (uri, lifetime) = try Self.requestURI(in: response)
        carried.append("request_uri", uri)
        return carrying(carried, for: lifetime)
    }

    /// RFC 9126 §3: with a signed request, no other parameters are sent.
    private var pushedParameters: FormParameters {
        var form = FormParameters()
        let isSigned = !carried.values("request").isEmpty
        for item in carried.items where !isSigned || ["client_id", "request"].contains(item.name) {
            form.append(item.name, item.value)
        }
        return form
    }

    /// Reads the URI that the provider chose. The response must also have its lifetime in seconds (RFC 9126 §2.2). No
    /// message repeats the URI: a reader of the log could use it first.
    private static func requestURI(in response: TransportResponse) throws -> (uri: String, lifetime: Int) {
        let object = try ResponseObject(
            accepted: response, as: "response to the pushed authorization request", stage: .authorization)
        let lifetime = try object.required("expires_in") { try object.seconds($0, atLeast: 1) }
        let uri = try object.required("request_uri") { try object.text($0, atMost: 2048) }
        guard !uri.contains(" ") else {
            throw object.refusal("expected 'request_uri' to be a URI, found other characters")
        }
        return (uri, lifetime)
    }
}
