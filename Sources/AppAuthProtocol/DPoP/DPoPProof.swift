package import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// What proves to a server that a request comes from whoever has the session's key (RFC 9449 §4.2): a token good for one
/// request.
package struct DPoPProof: Sendable {
    let method: String
    /// Without query and fragment.
    let url: String
    /// Whose nonce and time it holds.
    let origin: String
    /// By the server's clock, as far as it is known.
    package let issuedAt: Date
    /// What the server wants to find in it.
    package let nonce: String?
    /// The token that goes with it; nil at the authorization server.
    let accessToken: Secret?

    init(_ request: HTTPRequest, issuedAt: Date, nonce: String?, accessToken: Secret?) {
        method = request.method.rawValue
        url = "\(request.scheme ?? "")://\(request.authority ?? "")\((request.path ?? "/").prefix { $0 != "?" })"
        origin = Self.origin(of: request)
        (self.issuedAt, self.nonce, self.accessToken) = (issuedAt, nonce, accessToken)
    }

    /// Scheme, host and port: what a nonce counts for.
    static func origin(of request: HTTPRequest) -> String {
        "\(request.scheme ?? "")://\(request.authority?.lowercased() ?? "")"
    }

    func signed(by key: SigningKey) throws -> String {
        // §4.2: the public key alone, without a name or a use.
        let header: JSON.Object = ["typ": "dpop+jwt", "jwk": JWK(key.publicKey.material).json]
        var claims: JSON.Object = [
            "jti": .string(try Secret(randomBytes: 16).reveal()), "htm": .string(method), "htu": .string(url),
            "iat": .number(.init(Int(issuedAt.timeIntervalSince1970))),
        ]
        claims["ath"] = accessToken.map { .string($0.fingerprint) }
        claims["nonce"] = nonce.map(JSON.string)
        do { return try JWS.sign(.object(claims), header: header, with: key) } catch {
            throw AuthError(.unavailable, .configuration, "the session's key: \(error)", outcome: .notSent)
        }
    }
}
