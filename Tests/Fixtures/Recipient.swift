package import AppAuthProtocol
package import JOSE
package import AppAuthTestProvider

/// A client's key, and how a provider encrypts to it.
package struct Recipient: Sendable, CustomStringConvertible {
    package let own: RecipientKey
    package let encryption: ResponseEncryption

    package init(_ kind: PrivateKey.Kind, _ alg: KeyManagementAlgorithm, _ enc: ContentEncryption) throws {
        own = try RecipientKey.generate(kind)
        var key = own.publicKey
        key.kid = "enc-1"
        encryption = ResponseEncryption(key: key, alg, enc)
    }

    /// The usual one, which is made fast.
    package init() throws { try self.init(.ec(.p256), .ecdhESA128KW, .a128GCM) }

    package var description: String { "\(encryption.alg.rawValue) with \(encryption.enc.rawValue)" }

    /// The key as an app has it.
    package var key: DecryptionKey { get throws { try DecryptionKey(pem: own.pem, keyID: "enc-1") } }

    /// Encrypts anything, with any header beside the algorithms.
    package func encrypt(_ content: String, _ header: JSON.Object = ["cty": "JWT"]) throws -> String {
        try JWE.encrypt(
            Array(content.utf8), header: header, to: encryption.key, encryption.alg, encryption.enc)
    }

    /// A provider that encrypts to it.
    package func configuration(idTokens: Bool = true, userInfo: Bool = false) -> LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        if idTokens { configuration.clients[0].idTokenEncryption = encryption }
        if userInfo { configuration.clients[0].userInfoEncryption = encryption }
        return configuration
    }
}

extension Fault {
    /// Replaces the ID token by one that is made from it.
    package static func replaceIDToken(_ replace: @escaping @Sendable (String) throws -> String) -> Fault {
        .editDocument { document in
            guard let token = document["id_token"]?.string else { return }
            document["id_token"] = (try? replace(token)).map(JSON.string)
        }
    }
}
