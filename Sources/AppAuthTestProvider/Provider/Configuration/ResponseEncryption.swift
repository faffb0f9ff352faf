package import JOSE

/// The encryption of one kind of response for a client (OpenID Connect Registration §2, `…_encrypted_response_alg` and
/// `…_encrypted_response_enc`).
package struct ResponseEncryption: Sendable {
    /// The client's public key, from its `jwks`.
    package var key: JWK
    package var alg: KeyManagementAlgorithm
    package var enc: ContentEncryption

    /// - Parameter enc: The content encryption; by default the one of Registration §2.
    package init(key: JWK, _ alg: KeyManagementAlgorithm, _ enc: ContentEncryption = .a128CBCHS256) {
        (self.key, self.alg, self.enc) = (key, alg, enc)
    }

    /// Encrypts a signed token (Core §16.14). The header marks the content as a JWT (RFC 7519 §5.2).
    package func encrypted(token: String) throws -> String {
        try encrypted(Array(token.utf8), ["cty": "JWT"])
    }

    /// Encrypts unsigned claims: only for userinfo (Core §5.3.2).
    package func encrypted(claims: JSON) throws -> String { try encrypted(Array(claims.serialized().utf8), [:]) }

    private func encrypted(_ content: [UInt8], _ header: JSON.Object) throws -> String {
        var header = header
        header["kid"] = key.kid.map(JSON.string)
        return try JWE.encrypt(content, header: header, to: key, alg, enc)
    }

    /// Adds the metadata of a provider that encrypts (OpenID Connect Discovery §3).
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        for kind in ["id_token", "userinfo"] {
            document["\(kind)_encryption_alg_values_supported"] = .array(
                KeyManagementAlgorithm.allCases.map { .string($0.rawValue) })
            document["\(kind)_encryption_enc_values_supported"] = .array(
                ContentEncryption.allCases.map { .string($0.rawValue) })
        }
    }
}
