internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// A DPoP proof whose form, key, signature and target are valid (RFC 9449 §4.2). ``DPoP`` checks whether it is fresh.
struct DPoPProof: Sendable {
    /// The thumbprint of its key (RFC 9449 §6.1).
    let key: String
    let issuedAt: Double
    let id: String
    let nonce: String?
    /// The hash of the access token in the same request.
    let ath: String?

    /// Parses and checks the proof of a request, in the order of the steps in RFC 9449 §4.3; nil if there is none.
    ///
    /// - Parameter scheme: The scheme of the provider's URLs.
    init?(_ request: Request, _ scheme: String, _ algorithms: [SignatureAlgorithm]) throws(OAuthFailure) {
        let fields = request.headers[values: .dpop]
        // Step 1.
        guard fields.count <= 1 else { throw .invalidProof("expected one DPoP field, found \(fields.count)") }
        guard let text = fields.first else { return nil }
        // Step 2.
        guard let jws = try? JWS(compact: text), let claims = try? JSON(parsing: jws.payload) else {
            throw .invalidProof("expected one signed token in the DPoP field")
        }
        // Step 4.
        guard jws.header.typ == "dpop+jwt" else { throw .invalidProof("expected the typ dpop+jwt") }
        key = try Self.key(of: jws, text, algorithms)
        // Steps 8 and 9; §4.2: htu has neither query nor fragment.
        guard claims["htm"]?.string == request.method.rawValue else {
            throw .invalidProof("expected htm to be \(request.method.rawValue.forDescription)")
        }
        let target = "\(scheme)://" + request.host + request.path
        guard claims["htu"]?.string == target else {
            throw .invalidProof("expected htu to be \(target.forDescription)")
        }
        // Step 3.
        guard let issuedAt = claims["iat"]?.double else { throw .invalidProof("expected an iat") }
        guard let id = claims["jti"]?.string, !id.isEmpty else { throw .invalidProof("expected a jti") }
        (self.issuedAt, self.id) = (issuedAt, id)
        (nonce, ath) = (claims["nonce"]?.string, claims["ath"]?.string)
    }

    /// Returns the proof's key after steps 5 to 7: a supported asymmetric algorithm, a public key, and its signature.
    private static func key(
        of jws: JWS, _ text: String, _ algorithms: [SignatureAlgorithm]
    ) throws(OAuthFailure) -> String {
        guard let algorithm = SignatureAlgorithm(rawValue: jws.header.alg), algorithms.contains(algorithm) else {
            throw .invalidProof("expected an alg of \(algorithms.map(\.rawValue).joined(separator: ", "))")
        }
        // Only here does a token bring its own key. JWS does not read it for that reason.
        guard let header = Base64URL.decode(String(text.prefix { $0 != "." })), let json = try? JSON(parsing: header),
            let member = json["jwk"]
        else { throw .invalidProof("expected a jwk in the header") }
        // Parsing rejects a private key.
        guard let jwk = try? JWK(member), let key = try? VerificationKey(jwk) else {
            throw .invalidProof("expected a valid public key in jwk")
        }
        guard jwk.fits(algorithm), jws.isSigned(by: key, algorithm: algorithm) else {
            throw .invalidProof("the proof is not signed by its key")
        }
        return jwk.thumbprint
    }
}
