internal import FoundationEssentials
internal import JOSE

extension AuthorizationRequest {
    /// Signs the request (RFC 9101, OpenID Connect Core §6.1), so that the browser carries one token that cannot be
    /// changed on the way.
    ///
    /// Sends nothing. The token is valid for five minutes. ``prepared(in:)`` calls this if necessary.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if there is no key, or none for an
    ///   algorithm that the provider supports; what ``Environment/clientKey`` throws.
    public func signed(in environment: Environment) async throws -> AuthorizationRequest {
        let key = try await environment.clientKey(try signingKeyName)
        let algorithms = client.provider.requestObjectSigningAlgorithms
        let claims = try claims(at: environment.time(of: client).date)
        let token: String?
        // RFC 9101 §10.8: the type distinguishes it from every other kind of token.
        do { token = try await key.sign(claims, type: "oauth-authz-req+jwt", algorithms: algorithms) } catch {
            throw Self.refusal("\(error)")
        }
        guard let token else {
            throw Self.refusal(
                "expected a key for \(algorithms?.joined(separator: ", ") ?? "") to sign the request, "
                    + "found one for another algorithm")
        }
        // Core §6.1: OpenID Connect also requires these outside the token. They repeat what is inside.
        var carried = FormParameters()
        for item in parameters.items where ["client_id", "response_type", "scope"].contains(item.name) {
            carried.append(item.name, item.value)
        }
        carried.append("request", token)
        return carrying(carried)
    }

    private var signingKeyName: String {
        get throws {
            if let name = options.signingKeyName { return name }
            if case .privateKeyJWT(let name, _) = client.authentication { return name }
            throw Self.refusal("the provider requires signed requests. Set Options.signingKeyName")
        }
    }

    /// RFC 9101 §4: every parameter becomes a member. Numbers and JSON keep their type. The server judges the times by its
    /// own clock.
    private func claims(at now: Date) throws -> JSON {
        let seconds = Int(now.timeIntervalSince1970)
        var claims: JSON.Object = [
            "iss": .string(client.id), "aud": .string(client.provider.issuer.string),
            "jti": .string(try Secret(randomBytes: 16).reveal()), "iat": .number(.init(seconds)),
            "nbf": .number(.init(seconds)), "exp": .number(.init(seconds + 300)),
        ]
        for name in parameters.items.map(\.name) where claims[name] == nil {
            let values = parameters.values(name)
            claims[name] = values.count == 1 ? .string(values[0]) : .array(values.map(JSON.string))
        }
        claims["max_age"] = options.maxAge.map { .number(.init($0)) }
        claims["claims"] = options.claims
        if !options.authorizationDetails.isEmpty { claims["authorization_details"] = options.authorizationDetails.json }
        return .object(claims)
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .authorization, message)
    }
}

extension ProviderMetadata {
    /// Whether the provider accepts only signed requests (RFC 9101 §10.5).
    public var requiresSignedRequestObject: Bool { document["require_signed_request_object"]?.bool ?? false }

    /// The signature algorithms of signed requests; nil if not listed (OpenID Connect Discovery §3).
    public var requestObjectSigningAlgorithms: [String]? {
        document["request_object_signing_alg_values_supported"]?.strings
    }
}
