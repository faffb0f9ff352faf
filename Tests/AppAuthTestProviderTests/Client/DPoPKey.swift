import AppAuthTestProvider
import Foundation
import JOSE

/// A client's DPoP key, which makes proofs that are right, so that a test can do one thing wrong (RFC 9449 §4.2).
struct DPoPKey {
    let key: SigningKey

    init(_ algorithm: SignatureAlgorithm = .es256) throws { key = try SharedKeys.key(algorithm) }

    var thumbprint: String { key.publicKey.thumbprint }

    struct Draft {
        var header: JSON.Object
        var claims: JSON.Object
    }

    func proof(
        _ method: String, _ url: String, token: String? = nil, nonce: String? = nil, at time: Date = Date(),
        signedBy other: SigningKey? = nil, _ edit: (inout Draft) -> Void = { _ in }
    ) throws -> String {
        var draft = Draft(
            header: ["typ": "dpop+jwt", "jwk": key.publicKey.json],
            claims: [
                "htm": .string(method), "htu": .string(url), "jti": .string(UUID().uuidString),
                "iat": .number(.init(Int(time.timeIntervalSince1970))),
            ])
        draft.claims["nonce"] = nonce.map(JSON.string)
        draft.claims["ath"] = token.map { .string(Base64URL.encode(Digest.sha256.hash($0))) }
        edit(&draft)
        return try JWS.sign(.object(draft.claims), header: draft.header, with: other ?? key)
    }

    /// The fields of a request to a resource.
    func fields(_ method: String, _ url: String, token: String, nonce: String? = nil, at time: Date = Date()) throws
        -> [(String, String)]
    {
        [
            ("Authorization", "DPoP \(token)"),
            ("DPoP", try proof(method, url, token: token, nonce: nonce, at: time)),
        ]
    }
}
