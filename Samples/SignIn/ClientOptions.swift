internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// How the client authenticates.
struct ClientOptions: ParsableArguments, Sendable {
    enum Method: String, ExpressibleByArgument, CaseIterable, Sendable {
        case basic, post, none, client_secret_jwt, private_key_jwt
    }

    @Option(
        name: .customLong("client-secret-file"), parsing: .unconditional, help: "A file that holds the client secret.")
    var secretFile: String?
    @Option(
        name: .customLong("client-key"), parsing: .unconditional,
        help: "The client's private key, for private_key_jwt: PEM that is not encrypted, or a JWK.")
    var keyFile: String?
    @Option(name: .customLong("client-auth"), parsing: .unconditional, help: "How the client authenticates.")
    var method: Method?

    func validate() throws {
        switch method {
        case .basic, .post, .client_secret_jwt:
            if secretFile == nil { throw ValidationError("--client-auth needs --client-secret-file") }
            if keyFile != nil { throw ValidationError("--client-auth \(method?.rawValue ?? "") takes no --client-key") }
        case .private_key_jwt:
            if keyFile == nil { throw ValidationError("--client-auth private_key_jwt needs --client-key") }
        case .some(.none):
            if secretFile != nil { throw ValidationError("--client-auth none takes no --client-secret-file") }
            if keyFile != nil { throw ValidationError("--client-auth none takes no --client-key") }
        case nil: break
        }
    }

    /// Whether any of it is.
    var isGiven: Bool { secretFile != nil || keyFile != nil || method != nil }

    /// What the options name, each file read once: a secret may come through a pipe.
    ///
    /// An authentication that is nil is the provider's metadata to choose. A key is looked at now, so that nobody signs in
    /// for nothing.
    ///
    /// - Parameter registered: How it authenticates where the options say nothing.
    func credentials(
        of registered: Client? = nil
    ) throws -> (secret: Secret?, authentication: ClientAuthentication?) {
        let secret = try secretFile.map(SecretFile.read)
        switch (method, secret) {
        case (.basic, let secret?): return (secret, .clientSecretBasic(secret))
        case (.post, let secret?): return (secret, .clientSecretPost(secret))
        case (.client_secret_jwt, let secret?): return (secret, .clientSecretJWT(secret))
        case (.some(.none), _): return (nil, ClientAuthentication.none)
        case (_, _):
            guard let keyFile else { return (secret, secret == nil ? registered?.knownAuthentication : nil) }
            // Stored by its path, and later commands may run elsewhere.
            let path = keyFile.hasPrefix("/") ? keyFile : "\(FileManager.default.currentDirectoryPath)/\(keyFile)"
            _ = try ClientKey(file: path)
            return (secret, .privateKeyJWT(keyNamed: path))
        }
    }

    /// The client, authenticated as the options say, else as the provider supports it.
    func client(_ id: String, at provider: ProviderMetadata) throws -> Client {
        let (secret, authentication) = try credentials()
        let supported = secret.map { ClientAuthentication.secret($0, for: provider) } ?? .none
        return Client(id: id, authentication: authentication ?? supported, provider: provider)
    }
}
