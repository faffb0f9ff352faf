package import JOSE

/// An unsigned token of the provider, which a fault can change.
package struct JWTDraft: Sendable {
    package enum Signature: Sendable {
        /// Signed with the provider's key for the algorithm.
        case key(SignatureAlgorithm)
        /// Signed with the key before the last rotation, under its own `kid`.
        case formerKey(SignatureAlgorithm)
        /// Signed with an unpublished key, under any `kid` in the header.
        case unpublishedKey(SignatureAlgorithm)
        /// Signed with the provider's key, with one bit of the signature flipped.
        case damaged(SignatureAlgorithm)
        /// Signed with the provider's key, over claims in which half of a surrogate pair takes the place of each U+FFFD.
        case keyOverLoneSurrogates(SignatureAlgorithm)
        /// Signed with a shared secret: the client's, or one that an attacker assumes.
        case secret(MACAlgorithm, [UInt8])
        /// Unsigned, with `alg` `none` (RFC 7519 §6).
        case none
    }

    /// The header. The signature sets `alg`.
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
            return try JWS.sign(payload, header: header, with: SharedKeys.key(algorithm, -1))
        case .damaged(let algorithm):
            return try Self.damaged(JWS.sign(payload, header: header, with: keys.signing(algorithm).key))
        case .keyOverLoneSurrogates(let algorithm):
            var header = header
            header["alg"] = .string(algorithm.rawValue)
            let input = [JSON.object(header), payload].map {
                Base64URL.encode(Array($0.serialized().replacing("\u{FFFD}", with: #"\ud83d"#).utf8))
            }.joined(separator: ".")
            return input + "." + Base64URL.encode(try keys.signing(algorithm).key.sign(Array(input.utf8)))
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
        // Not the first byte: changing it could make an RSA signature larger than its modulus.
        signature[signature.count / 2] ^= 1
        parts[2] = Base64URL.encode(signature)
        return parts.joined(separator: ".")
    }
}
