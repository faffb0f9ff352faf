package import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// A proof that a request comes from the holder of the session's key (RFC 9449 §4.2): a token valid for one request.
package struct DPoPProof: Sendable {
    let method: String
    /// The URL without query and fragment.
    let url: String
    /// The origin of the server that provided the nonce and the time.
    let origin: String
    /// The time by the server's clock if it is known, otherwise by this machine's.
    package let issuedAt: Date
    /// The nonce that the server requires.
    package let nonce: String?
    /// The access token of the request; nil at the authorization server.
    let accessToken: Secret?

    init(_ request: HTTPRequest, issuedAt: Date, nonce: String?, accessToken: Secret?) {
        method = request.method.rawValue
        url = "\(request.scheme ?? "")://\(request.authority ?? "")\((request.path ?? "/").prefix { $0 != "?" })"
        origin = Self.origin(of: request)
        (self.issuedAt, self.nonce, self.accessToken) = (issuedAt, nonce, accessToken)
    }

    /// Returns scheme, host and port, to which a nonce belongs.
    static func origin(of request: HTTPRequest) -> String {
        "\(request.scheme ?? "")://\(request.authority?.lowercased() ?? "")"
    }

    static func origin(of url: SecureURL) -> String { origin(of: HTTPRequest(method: .post, url: url)) }

    func signed(by key: SigningKey) throws -> String {
        // §4.2: only the public key, without a name or a use.
        let header: JSON.Object = ["typ": "dpop+jwt", "jwk": JWK(key.publicKey.material).json]
        var claims: JSON.Object = [
            "jti": .string(try Secret(randomBytes: 16).reveal()), "htm": .string(method), "htu": .string(url),
            "iat": .number(.init(Int(issuedAt.timeIntervalSince1970))),
        ]
        claims["ath"] = accessToken.map { .string($0.fingerprint) }
        claims["nonce"] = nonce.map(JSON.string)
        do { return try JWS.sign(.object(claims), header: header, with: key) } catch {
            throw AuthError(
                .unavailable, .configuration, "the session’s DPoP key cannot be used: \(error)", outcome: .notSent)
        }
    }
}
