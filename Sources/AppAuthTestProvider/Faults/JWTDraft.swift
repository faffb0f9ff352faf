package import JOSE

/// A token of the provider before it is signed, which a fault can change.
package struct JWTDraft: Sendable {
    package enum Signature: Sendable {
        /// By the provider's key for the algorithm.
        case key(SignatureAlgorithm)
        /// By the key that signed before the last rotation, under its own `kid`.
        case formerKey(SignatureAlgorithm)
        /// By a key that nobody published, under whatever `kid` the header names.
        case unpublishedKey(SignatureAlgorithm)
        /// By the provider's key, with one bit of the signature turned.
        case damaged(SignatureAlgorithm)
        /// By a shared secret: the client's, or what an attacker takes for one.
        case secret(MACAlgorithm, [UInt8])
        /// None at all, with `alg` `none` (RFC 7519 §6).
        case none
    }

    /// `alg` is set from the signature.
    package var header: JSON.Object
    package var claims: JSON.Object
    package var signature: Signature

    func serialized(_ keys: KeyRing) throws -> String {
        let payload = JSON.object(claims)
        switch signature {
        case .key(let algorithm): return try JWS.sign(payload, header: header, with: keys.signing(algorithm).key)
        case .formerKey(let algorithm):
            let (key, kid) = try keys.former(algorithm)
            var header = header
            header["kid"] = .string(kid)
            return try JWS.sign(payload, header: header, with: key)
        case .unpublishedKey(let algorithm):
            return try JWS.sign(payload, header: header, with: SigningKey.generate(algorithm))
        case .damaged(let algorithm):
            return try Self.damaged(JWS.sign(payload, header: header, with: keys.signing(algorithm).key))
        case .secret(let algorithm, let secret):
            return try JWS.sign(payload, header: header, secret: secret, algorithm: algorithm)
        case .none:
            var header = header
            header["alg"] = "none"
            let parts = [JSON.object(header), payload].map { Base64URL.encode(Array($0.serialized().utf8)) }
            return parts.joined(separator: ".") + "."
        }
    }

    private static func damaged(_ token: String) throws -> String {
        var parts = token.split(separator: ".").map(String.init)
        guard parts.count == 3, var signature = Base64URL.decode(parts[2]) else {
            throw ProviderError("a signed token has three parts")
        }
        // Not the first byte, which could take an RSA signature beyond its modulus.
        signature[signature.count / 2] ^= 1
        parts[2] = Base64URL.encode(signature)
        return parts.joined(separator: ".")
    }
}
