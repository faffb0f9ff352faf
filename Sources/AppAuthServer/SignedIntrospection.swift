internal import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE

/// An introspection response as a signed JWT (RFC 9701 §5), parsed but not yet verified.
struct SignedIntrospection {
    private let jws: JWS

    /// How far the two clocks may differ, in seconds.
    private static let leeway = 60.0
    /// The maximum age of a response that was just received, in seconds.
    private static let maximumAge = 300.0

    init(_ response: TransportResponse) throws {
        guard response.mediaType == "application/token-introspection+jwt" else {
            throw Introspection.refusal(
                "expected content of type application/token-introspection+jwt, found \(response.mediaType ?? "none")")
        }
        do { jws = try JWS(compact: String(decoding: response.body, as: UTF8.self)) } catch {
            throw Introspection.refusal("\(error)")
        }
    }

    func verified(by verification: IDTokenVerification) async throws -> Introspection {
        // §5: the type distinguishes the response from an access token or an ID token.
        guard jws.header.isOfType("token-introspection+jwt") else {
            throw Introspection.refusal(
                "expected 'typ' to be token-introspection+jwt, found \(jws.header.typ.map { "'\($0.prefix(64))'" } ?? "none")"
            )
        }
        let client = verification.client
        try await verification.checkSignature(
            of: jws, listed: client.introspectionAlgorithms, refusal: Introspection.refusal)
        let json: JSON
        do { json = try JSON(parsing: jws.payload) } catch { throw Introspection.refusal("\(error)") }
        let claims = try ResponseObject(json, refuse: Introspection.refusal)
        // §5: iss, aud and iat are REQUIRED; aud is the client that asked.
        let issuer = try claims.required("iss") { try claims.string($0) }
        guard issuer.isExactly(client.provider.issuer.string) else {
            throw Introspection.refusal(
                "expected 'iss' to be '\(client.provider.issuer)', found '\(issuer.shortened(to: 200))'")
        }
        let audience = try claims.required("aud") { try claims.stringOrStrings($0) }
        guard audience.contains(where: client.id.isExactly) else {
            let found = audience.joined(separator: " ").shortened(to: 200)
            throw Introspection.refusal("expected 'aud' to contain '\(client.id)', found '\(found)'")
        }
        let (now, clock) = verification.environment.time(of: client)
        let age = now.timeIntervalSince(try claims.required("iat") { try claims.time($0) })
        guard (-Self.leeway...Self.maximumAge + Self.leeway).contains(age) else {
            throw Introspection.refusal(
                "expected a response that was made now, found one made \(Int(age)) s ago by \(clock)")
        }
        return try Introspection(ResponseObject(claims.value("token_introspection"), refuse: Introspection.refusal))
    }
}

extension JWS.Header {
    /// Returns whether `typ` is this type, in any case, with or without `application/` (RFC 7515 §4.1.9).
    func isOfType(_ type: String) -> Bool {
        guard let typ = typ?.lowercasedASCII else { return false }
        return typ == type || typ == "application/" + type
    }
}
