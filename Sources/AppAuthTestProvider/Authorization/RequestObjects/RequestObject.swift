internal import FoundationEssentials
internal import JOSE

/// An authorization request that the client has signed (RFC 9101). The parameters are the claims of a token.
struct RequestObject {
    let context: Context
    let client: RegisteredClient

    /// The accepted algorithms; `none` is not one of them (RFC 9101 §10.5).
    private static let algorithms = SignatureAlgorithm.available
    /// The maximum age and lifetime of an object, in seconds (FAPI 2.0 Message Signing §5.3.1).
    private static let longestLifetime = 3600.0
    private static let leeway = 60.0

    /// Returns the parameters that apply: if there is an object, only those inside it (RFC 9101 §5, §6.3).
    func opened(_ outside: Parameters) throws(AuthorizationRefusal) -> Parameters {
        do throws(OAuthFailure) {
            guard let text = outside["request"] else {
                guard !context.configuration.requiresSignedRequestObjects else {
                    throw .invalidRequest("expected a signed request object")
                }
                return outside
            }
            // §5: not both of them.
            guard outside.values("request").count == 1, outside["request_uri"] == nil else {
                throw .invalidRequest("expected one request and no request_uri")
            }
            return try parameters(text)
        } catch {
            // An invalid object is ignored. The parameters beside it may name a registered way back.
            throw AuthorizationRefusal(error, wayBack: try? AuthorizationReturn(outside, client))
        }
    }

    private func parameters(_ text: String) throws(OAuthFailure) -> Parameters {
        guard let jws = try? JWS(compact: text), let claims = (try? JSON(parsing: jws.payload))?.object else {
            throw .invalidRequestObject("expected a signed token with an object inside")
        }
        guard let algorithm = SignatureAlgorithm(rawValue: jws.header.alg), Self.algorithms.contains(algorithm) else {
            throw .invalidRequestObject("expected a signature by a public key")
        }
        // §10.8: a token with another type is not a request object.
        guard [nil, "JWT", "oauth-authz-req+jwt"].contains(jws.header.typ) else {
            throw .invalidRequestObject("expected the typ oauth-authz-req+jwt")
        }
        // §6.2.
        guard client.hasSigned(jws, algorithm) else {
            throw .invalidRequestObject("the request object is not signed by a key of the client")
        }
        try checkOrigin(of: claims)
        try checkTime(of: claims)
        return try Self.parameters(in: claims)
    }

    private func checkOrigin(of claims: JSON.Object) throws(OAuthFailure) {
        // §5: the same as outside, where the client was found by it.
        guard claims["client_id"]?.string == client.id else {
            throw .invalidRequestObject("expected the client_id of the request inside the object")
        }
        // §4.
        guard claims["iss"]?.string == client.id else {
            throw .invalidRequestObject("expected iss to be the client")
        }
        let audience = claims["aud"]?.strings ?? claims["aud"]?.string.map { [$0] } ?? []
        guard audience.contains(context.issuer.identifier) else {
            throw .invalidRequestObject("expected aud to be the issuer")
        }
        // §10.8: otherwise it could be used as a client assertion.
        guard claims["sub"]?.string != client.id else {
            throw .invalidRequestObject("expected sub not to be the client")
        }
        // §4.
        guard claims["request"] == nil, claims["request_uri"] == nil else {
            throw .invalidRequestObject("expected neither request nor request_uri inside the object")
        }
    }

    /// Checks that both times are present, that nbf is at most an hour ago, and that exp is at most an hour after nbf
    /// (FAPI 2.0 Message Signing §5.3.1).
    private func checkTime(of claims: JSON.Object) throws(OAuthFailure) {
        let now = context.now.timeIntervalSince1970
        guard let start = claims["nbf"]?.double, start <= now + Self.leeway, start >= now - Self.longestLifetime else {
            throw .invalidRequestObject("expected an nbf within the last hour")
        }
        guard let end = claims["exp"]?.double, end > now - Self.leeway, end <= start + Self.longestLifetime else {
            throw .invalidRequestObject("expected an exp in the future, within an hour of nbf")
        }
    }

    /// The claims about the token itself, which are no parameters of the request.
    private static let tokenClaims: Set = ["iss", "aud", "sub", "exp", "nbf", "iat", "jti"]

    /// Returns the claims as parameters: strings unchanged, numbers by their digits, objects and lists as JSON (§4).
    /// `resource` may be a list (RFC 8707 §2).
    private static func parameters(in claims: JSON.Object) throws(OAuthFailure) -> Parameters {
        var entries: [Parameters.Entry] = []
        for member in claims.members where !tokenClaims.contains(member.name) {
            let values: [String]
            switch member.value {
            case .string(let text): values = [text]
            case .number(let number): values = [number.text]
            case .array where member.name == "resource": values = member.value.strings ?? []
            case .array, .object: values = [member.value.serialized()]
            case .bool, .null:
                throw .invalidRequestObject("the parameter \(member.name.forDescription) is not a string")
            }
            entries += values.map { Parameters.Entry(name: member.name, value: $0) }
        }
        return Parameters(entries)
    }
}

extension RequestObject {
    /// Returns the parameters of a pushed request. Besides an object, only client authentication is allowed; the
    /// client_id may be missing (RFC 9126 §3).
    static func pushed(_ form: Parameters, by client: RegisteredClient) throws(OAuthFailure) -> Parameters {
        guard form["request"] != nil else { return form }
        guard Set(form.names).isSubset(of: ["request", "client_id"]) else {
            throw .invalidRequest("expected only client authentication beside the request object")
        }
        let named = form["client_id"] == nil ? [Parameters.Entry(name: "client_id", value: client.id)] : []
        return Parameters(form.entries + named)
    }

    /// Adds the metadata of RFC 9101 §9, §10.5 and OpenID Connect Discovery §3.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["request_parameter_supported"] = true
        document["require_signed_request_object"] = .bool(context.configuration.requiresSignedRequestObjects)
        document["request_object_signing_alg_values_supported"] = .array(algorithms.map { .string($0.rawValue) })
    }
}

extension OAuthFailure {
    /// The error for an invalid object (RFC 9101 §7).
    fileprivate static func invalidRequestObject(_ description: String) -> OAuthFailure {
        OAuthFailure("invalid_request_object", description)
    }
}
