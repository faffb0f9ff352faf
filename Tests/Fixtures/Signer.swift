package import AppAuthProtocol
internal import AppAuthTestProvider
package import Foundation
package import JOSE

/// A provider's key and a client without a server, for ID tokens with a single flaw.
package struct Signer: Sendable {
    package static let issuer = "https://op.example"
    package static let now = Date(timeIntervalSince1970: 1_750_000_000)
    package static let nonce = Secret("n-0S6_WzA2Mj")
    package static let accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")

    package let key: SigningKey
    package var kid: String? = "key-1"

    /// - Parameter number: Another one for another RSA key. Keys of other kinds are always new.
    package init(_ algorithm: SignatureAlgorithm = .es256, number: Int = 0) throws {
        key = try SharedKeys.key(algorithm, number)
    }

    package static func provider(_ algorithms: [String]? = nil) throws -> ProviderMetadata {
        var more = JSON.Object()
        more["id_token_signing_alg_values_supported"] = algorithms.map { .array($0.map(JSON.string)) }
        return try ProviderMetadata(issuer: Issuer(issuer), endpoints: [.token: issuer + "/token"], more: more)
    }

    /// Returns a verifier that accepts all of these algorithms by default, so that an invalid token fails for another
    /// reason.
    package static func verifier(
        secret: String? = nil,
        algorithms: [String] = ["RS256", "ES256", "EdDSA", "HS256", "HS384", "HS512", "PS256", "PS512"]
    ) throws -> IDTokenVerifier {
        let client = Client(
            id: "s6BhdRkqt3", authentication: secret.map { .clientSecretBasic(Secret($0)) } ?? .none,
            provider: try provider(algorithms))
        var verifier = IDTokenVerifier(client: client)
        verifier.now = { Timestamp(wall: now) }
        return verifier
    }

    /// The claims of a valid token.
    package static var claims: JSON.Object {
        let seconds = Int(now.timeIntervalSince1970)
        return [
            "iss": .string(issuer), "sub": "24400320", "aud": "s6BhdRkqt3", "nonce": .string(nonce.reveal()),
            "exp": .number(.init(seconds + 600)), "iat": .number(.init(seconds)),
        ]
    }

    package func token(typ: String? = "JWT", _ edit: (inout JSON.Object) -> Void = { _ in }) throws -> Secret {
        var claims = Self.claims
        edit(&claims)
        var header = JSON.Object()
        header["kid"] = kid.map(JSON.string)
        header["typ"] = typ.map(JSON.string)
        return Secret(try JWS.sign(.object(claims), header: header, with: key))
    }

    /// Returns the published form of the key.
    package func jwk(kid: String? = "key-1", use: String? = "sig", alg: String? = nil) -> JSON {
        var jwk = key.publicKey
        (jwk.kid, jwk.use, jwk.alg) = (kid, use, alg)
        return jwk.json
    }

    package var keys: KeySet { get throws { try Self.keySet([jwk()]) } }

    package static func keySet(_ keys: [JSON]) throws -> KeySet {
        try KeySet(document: Array((["keys": .array(keys)] as JSON).serialized().utf8))
    }
}

extension IDTokenVerifier.Expectations {
    /// The expectations with the nonce of ``Signer``.
    package static var usual: Self { .init(nonce: Signer.nonce) }
}
