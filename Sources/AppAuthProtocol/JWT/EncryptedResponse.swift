internal import JOSE

/// A response that a provider can encrypt to the client (OpenID Connect Core §10.2).
public enum EncryptedResponse: Sendable, Hashable {
    /// ID tokens (`id_token_encrypted_response_alg`, OpenID Connect Registration §2), and therefore logout tokens
    /// (Back-Channel Logout §2.4).
    case idToken
    /// Responses of the userinfo endpoint (`userinfo_encrypted_response_alg`).
    case userInfo
}

/// The content of an encrypted token.
package struct DecryptedContent {
    package let bytes: [UInt8]
    /// `cty`, without `application/` (RFC 7516 §4.1.12).
    let contentType: String?

    /// The content as a signed token; nil if it is something else. RFC 7519 §5.2 requires the `cty` `JWT`, but several
    /// providers omit it. The caller verifies the token in either case.
    package var token: String? {
        guard contentType == nil || contentType == "jwt" else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Whether the content is a JSON object and has no other content type.
    package var isObject: Bool { contentType == nil && bytes.first == UInt8(ascii: "{") }
}

extension Environment {
    /// The responses that must be encrypted, according to the client's registration. Unencrypted ones are rejected.
    /// Empty by default.
    public var requiredEncryption: Set<EncryptedResponse> {
        get { self[RequiredEncryption.self] }
        set { self[RequiredEncryption.self] = newValue }
    }

    /// Decrypts a token with the key that its header names (RFC 7516 §5.2).
    ///
    /// - Throws: ``JOSEError`` for a token that cannot be decrypted; what ``decryptionKey`` throws.
    package func decrypt(_ token: String) async throws -> DecryptedContent {
        let jwe = try JWE(compact: token)
        let type = jwe.header.cty?.lowercasedASCII
        let prefix = "application/"
        return DecryptedContent(
            bytes: try await decryptionKey(jwe.header.kid).decrypt(jwe),
            contentType: type.map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 })
    }

    /// Throws if an unencrypted response must be encrypted.
    package func allowPlain(_ response: EncryptedResponse) throws(JOSEError) {
        guard !requiredEncryption.contains(response) else {
            throw JOSEError("expected an encrypted response, as the app requires, found one in plain text")
        }
    }

    /// Returns the signed token inside an ID token or logout token that may be encrypted (Core §3.1.3.7 step 1, §16.14:
    /// signed first, then encrypted).
    ///
    /// Keep this one: a provider accepts it as a hint (§3.1.2.1), but could not decrypt the other.
    ///
    /// - Throws: As ``decrypt(_:)``.
    package func signedToken(in token: Secret) async throws -> Secret {
        let text = token.reveal()
        guard JWE.hasForm(text) else {
            try allowPlain(.idToken)
            return token
        }
        guard let signed = try await decrypt(text).token else {
            throw JOSEError(
                "expected a signed token inside the encrypted response (RFC 7519 §5.2), found something else")
        }
        return Secret(signed)
    }
}

private enum RequiredEncryption: EnvironmentKey {
    static let defaultValue: Set<EncryptedResponse> = []
}
