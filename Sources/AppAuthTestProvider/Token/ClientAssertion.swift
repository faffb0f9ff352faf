internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// Client authentication with a signed assertion (RFC 7523 §3, OpenID Connect Core §9), by the client's secret or key.
struct ClientAssertion {
    let context: Context

    static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    static let algorithms = SignatureAlgorithm.available.map(\.rawValue) + MACAlgorithm.allCases.map(\.rawValue)

    /// The maximum lifetime of an assertion, in seconds.
    private static let longestLifetime = 300
    private static let leeway = 60

    func client(_ form: Parameters) throws(OAuthFailure) -> RegisteredClient {
        guard form["client_assertion_type"] == Self.type, let text = form["client_assertion"] else {
            throw .invalidClient("expected a client_assertion of the type \(Self.type)")
        }
        let (jws, claims) = try read(text)
        guard let id = claims["sub"]?.string else { throw .invalidClient("expected a sub, found none") }
        guard let client = context.client(id) else { throw .invalidClient(OAuthFailure.notRegistered(id)) }
        // RFC 7521 §4.2: a client_id, if present, must match the assertion's.
        guard form["client_id"] ?? id == id else {
            throw .invalidClient("the client_id differs from that of the assertion")
        }
        try check(jws, of: client)
        try check(claims, of: id)
        return client
    }

    private func read(_ text: String) throws(OAuthFailure) -> (JWS, JSON) {
        do {
            let jws = try JWS(compact: text)
            return (jws, try JSON(parsing: jws.payload))
        } catch { throw .invalidClient("the assertion is not a signed token") }
    }

    private func check(_ jws: JWS, of client: RegisteredClient) throws(OAuthFailure) {
        let method: RegisteredClient.Authentication
        let isSigned: Bool
        if let algorithm = MACAlgorithm(rawValue: jws.header.alg) {
            method = .secretJWT
            isSigned = client.secret.map { jws.isSigned(bySecret: Array($0.utf8), algorithm: algorithm) } ?? false
        } else if let algorithm = SignatureAlgorithm(rawValue: jws.header.alg) {
            method = .privateKeyJWT
            isSigned = client.hasSigned(jws, algorithm)
        } else {
            throw .invalidClient("the assertion's algorithm is not supported")
        }
        guard client.authentication.contains(method) else {
            let expected = client.authentication.map(\.rawValue).sorted().joined(separator: " or ")
            throw .invalidClient("expected the client to authenticate by \(expected)")
        }
        guard isSigned else { throw .invalidClient("the assertion is not signed by the client") }
    }

    /// Checks the claims strictly by RFC 7523 §3: one audience, and each assertion once.
    private func check(_ claims: JSON, of id: String) throws(OAuthFailure) {
        guard claims["iss"]?.string == id else { throw .invalidClient("expected iss and sub to be the client") }
        // The last one by RFC 9126 §2.
        var audiences = [context.issuer.identifier] + [.token, .pushedAuthorization].map(context.issuer.url)
        if context.configuration.requiresTokenEndpointAudience { audiences = [context.issuer.url(.token)] }
        guard let audience = claims["aud"]?.string, audiences.contains(audience) else {
            throw .invalidClient("expected one aud: the issuer, the token endpoint or that for pushed requests")
        }
        let now = context.now.seconds
        guard let expiry = claims["exp"]?.int, expiry > now - Self.leeway, expiry <= now + Self.longestLifetime else {
            throw .invalidClient("expected exp within the next \(Self.longestLifetime) s")
        }
        guard let issued = claims["iat"]?.int, issued <= now + Self.leeway else {
            throw .invalidClient("expected iat not to be in the future")
        }
        guard let jti = claims["jti"]?.string, jti.utf8.count >= 16 else {
            throw .invalidClient("expected a jti that cannot be guessed")
        }
        let isNew = context.store.withLock { records in
            records.assertions.updateValue(context.now.adding(Self.longestLifetime), forKey: "\(id) \(jti)") == nil
        }
        guard isNew else { throw .invalidClient("the assertion was used before") }
    }
}
