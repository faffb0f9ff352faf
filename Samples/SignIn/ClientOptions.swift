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

    func secret() throws -> Secret? { try secretFile.map { try SecretFile.read($0) } }

    /// nil leaves the choice to the provider's metadata. A key is looked at now, so that nobody signs in for nothing.
    func authentication() throws -> ClientAuthentication? {
        switch (method, try secret()) {
        case (.basic, let secret?): return .clientSecretBasic(secret)
        case (.post, let secret?): return .clientSecretPost(secret)
        case (.client_secret_jwt, let secret?): return .clientSecretJWT(secret)
        case (.some(.none), _): return ClientAuthentication.none
        case (_, _):
            guard let keyFile else { return nil }
            // Stored by its path, and later commands may run elsewhere.
            let path = keyFile.hasPrefix("/") ? keyFile : "\(FileManager.default.currentDirectoryPath)/\(keyFile)"
            _ = try ClientKey(file: path)
            return .privateKeyJWT(keyNamed: path)
        }
    }

    /// As ``authentication()``; without options as the client is registered.
    func authentication(_ registered: Client?) throws -> ClientAuthentication? {
        try authentication() ?? (secretFile == nil ? registered?.authentication : nil)
    }

    /// The client, authenticated as the options say, else as the provider supports it.
    func client(_ id: String, at provider: ProviderMetadata) throws -> Client {
        let supported = try secret().map { ClientAuthentication.secret($0, for: provider) } ?? .none
        return Client(id: id, authentication: try authentication() ?? supported, provider: provider)
    }
}
