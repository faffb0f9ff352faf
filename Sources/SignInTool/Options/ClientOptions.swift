internal import AppAuth
internal import ArgumentParser
internal import Glibc

/// The options for client authentication.
struct ClientOptions: ParsableArguments, Sendable {
    enum Method: String, ExpressibleByArgument, CaseIterable, Sendable {
        case basic, post, none, client_secret_jwt, private_key_jwt
    }

    @Option(
        name: .customLong("client-secret-file"), parsing: .unconditional, help: "A file with the client secret.",
        completion: .file())
    var secretFile: String?
    @Option(
        name: .customLong("client-key"), parsing: .unconditional,
        help: """
            The client’s private key for private_key_jwt: a file with unencrypted PEM, a TPM’s PEM or a JWK, or a URI of a key \
            in a device: handle:0x81000001, or handle:0x81000001?pass to be asked for its PIN, pkcs11:…
            """,
        completion: .file())
    var keyFile: String?
    @Option(
        name: .customLong("client-assertion-file"), parsing: .unconditional,
        help: "A file with a JWT of another issuer, which authenticates the client. It is read for each request.",
        completion: .file())
    var assertionFile: String?
    @Option(name: .customLong("client-auth"), parsing: .unconditional, help: "How the client authenticates.")
    var method: Method?
    @Option(
        name: .customLong("assertion-audience"), parsing: .unconditional,
        help: """
            The audience of the assertion for client_secret_jwt or private_key_jwt: issuer, token-endpoint or a URL. \
            Stored with the session. (default: issuer)
            """)
    var audience: AssertionAudience?

    func validate() throws {
        if assertionFile != nil, secretFile != nil || keyFile != nil || method != nil || audience != nil {
            throw ValidationError("--client-assertion-file takes no other option for the client’s authentication")
        }
        // RFC 7512 §2.4. The command line is stored and shown.
        if let keyFile, keyFile.hasPrefix("pkcs11:"), keyFile.contains("pin-value") {
            throw ValidationError("--client-key: expected a URI without the PIN. Name its file in SIGN_IN_KEY_PIN_FILE")
        }
        switch method {
        case .basic, .post, .client_secret_jwt:
            if keyFile != nil { throw ValidationError("--client-auth \(method?.rawValue ?? "") takes no --client-key") }
        case .private_key_jwt:
            if keyFile == nil { throw ValidationError("--client-auth private_key_jwt needs --client-key") }
        case .some(.none):
            if secretFile != nil { throw ValidationError("--client-auth none takes no --client-secret-file") }
            if keyFile != nil { throw ValidationError("--client-auth none takes no --client-key") }
        case nil: break
        }
        // Without these options, the client may be a registered one that signs.
        let maySign = keyFile != nil || method == .client_secret_jwt || (method == nil && secretFile == nil)
        guard audience == nil || maySign else {
            throw ValidationError("--assertion-audience needs --client-key or --client-auth client_secret_jwt")
        }
    }

    /// Throws if the options have a credential, but do not say for which issuer it is: a resource must not choose who gets
    /// it (RFC 6749 §2.3.1).
    func requireIssuer(_ issuer: String?) throws {
        guard issuer == nil, secretFile != nil || keyFile != nil || assertionFile != nil else { return }
        throw WrongUsage("the client’s credential is for one provider: name its --issuer")
    }

    /// The options as they were given, for another command line. The path of a pipe is `FILE`, as in the help: its
    /// contents have been read already.
    var words: [String] {
        func isFile(_ path: String) -> Bool {
            var status = stat()
            return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
        let options = [
            ("--client-secret-file", secretFile.map { isFile($0) ? $0 : "FILE" }),
            ("--client-assertion-file", assertionFile), ("--client-key", keyFile), ("--client-auth", method?.rawValue),
            ("--assertion-audience", audience?.argument),
        ]
        return options.flatMap { name, value in value.map { [name, $0] } ?? [] }
    }

    /// Whether any of the options is given.
    var isGiven: Bool {
        assertionFile != nil || secretFile != nil || keyFile != nil || method != nil || audience != nil
    }

    /// Returns the credentials that the options name. Each file is read once, because a secret may come through a pipe.
    ///
    /// If the authentication is nil, the provider's metadata decides. A key is loaded now, so that a bad key fails
    /// before the user signs in.
    ///
    /// - Parameter registered: The registered client, whose authentication applies if the options name none.
    private func credentials(
        of registered: Client?, in environment: Environment
    ) async throws -> (secret: Secret?, authentication: ClientAuthentication?) {
        if let assertionFile {
            return (nil, .assertion(named: try assertionFile.absolutePath))
        }
        // RFC 6749 §2.3.1 allows an empty secret. Public clients of Reddit and Cloud Foundry have one.
        let secret = try secretFile.map {
            try SecretFile.read($0, of: "--client-secret-file", mayBeEmpty: method == .basic)
        }
        switch (method, secret) {
        case (.basic, let secret?): return (secret, .clientSecretBasic(secret))
        case (.post, let secret?): return (secret, .clientSecretPost(secret))
        case (.client_secret_jwt, let secret?): return (secret, .clientSecretJWT(secret, audience: wantedAudience))
        case (.basic, nil): return (nil, .clientSecretBasic(try Self.secret(of: registered)))
        case (.post, nil): return (nil, .clientSecretPost(try Self.secret(of: registered)))
        case (.client_secret_jwt, nil):
            return (nil, .clientSecretJWT(try Self.secret(of: registered), audience: wantedAudience))
        case (.some(.none), _): return (nil, ClientAuthentication.none)
        case (_, _):
            guard let keyFile else {
                guard secret == nil else { return (secret, nil) }
                let known = registered?.knownAuthentication
                return (nil, audience == nil ? known : try signing(known))
            }
            let name = try keyFile.absoluteKeyName
            do { _ = try await environment.clientKey(name) } catch var error as AuthError {
                error.message = "--client-key: \(error.message)"
                throw error
            }
            return (secret, .privateKeyJWT(keyNamed: name, audience: wantedAudience))
        }
    }

    private static func secret(of registered: Client?) throws -> Secret {
        guard let secret = registered?.registration?.clientSecret else {
            throw WrongUsage("--client-auth needs --client-secret-file, or a registered client that has a secret")
        }
        return secret
    }

    private var wantedAudience: ClientAuthentication.Audience { audience?.audience ?? .issuer }

    /// Returns the registered client's authentication with the requested audience.
    private func signing(_ known: ClientAuthentication?) throws -> ClientAuthentication {
        switch known {
        case .clientSecretJWT(let secret, _): .clientSecretJWT(secret, audience: wantedAudience)
        case .privateKeyJWT(let name, _): .privateKeyJWT(keyNamed: name, audience: wantedAudience)
        default: throw WrongUsage("--assertion-audience: this client does not authenticate with an assertion")
        }
    }

    /// Throws if the credentials of a registered client would go to another server's endpoint. An imported profile may name any
    /// endpoint, but it does not decide where a secret of this machine goes.
    private func requireOwnEndpoints(of registered: Client, _ provider: ProviderPreset, _ metadata: SecureURL?) throws {
        guard assertionFile == nil, secretFile == nil, keyFile == nil else { return }
        // What is signed for another server would be of use there.
        let own = [registered.provider.issuer.string, registered.provider[.token]?.string]
        if case .other(let url)? = audience?.audience, !own.contains(url) {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the client \(registered.id.shownName) is registered at \(registered.provider.issuer), so it signs nothing for "
                    + "\(url.foundText). Leave out --assertion-audience, or name a key of your own with --client-key")
        }
        // Who wrote metadata elsewhere is not known, even if it names the issuer.
        if let metadata, metadata != registered.provider.location {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the client \(registered.id.shownName) is registered at \(registered.provider.issuer), so its credentials do not go "
                    + "where \(metadata.string.foundText) says. Leave out --metadata-url, register a client with it, or name "
                    + "credentials of your own, for example with --client-secret-file")
        }
        guard let metadata = provider.metadata else { return }
        for (name, endpoint) in [("token_endpoint", .token), ("device_authorization_endpoint", .deviceAuthorization)]
            as [(String, ProviderMetadata.Endpoint)]
        {
            guard let chosen = metadata[name]?.string, registered.provider[endpoint]?.string != chosen else { continue }
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the client \(registered.id.shownName) is registered at \(registered.provider.issuer), so its credentials do not go "
                    + "to \(chosen.foundText). Leave out the options for endpoints, or name credentials of your own, for "
                    + "example with --client-secret-file")
        }
    }

    /// Returns the configuration of a client with the credentials that the options name.
    ///
    /// - Parameters:
    ///   - metadata: Where the provider's metadata is; nil for where its issuer says.
    ///   - registered: The registered client, if there is one.
    func configuration(
        _ clientID: String, at provider: ProviderPreset, _ metadata: SecureURL? = nil, of registered: Client? = nil,
        in environment: Environment
    ) async throws -> ClientConfiguration {
        if let registered { try requireOwnEndpoints(of: registered, provider, metadata) }
        var configuration = try ClientConfiguration(provider, clientID: clientID, environment: environment)
        configuration.metadataURL = metadata
        (configuration.clientSecret, configuration.authentication) = try await credentials(
            of: registered, in: environment)
        configuration.registration = registered?.registration
        return configuration
    }
}

/// The option for ID tokens that are for other audiences too.
struct TrustOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("trusted-audience"), parsing: .unconditionalSingleValue,
        help: "An audience that ID tokens may have besides the client, for example an API. Stored with the session.")
    var audiences: [String] = []

    /// The options as they were given, for another command line.
    var words: [String] { audiences.flatMap { ["--trusted-audience", $0] } }
}

extension ClientOptions.Method {
    /// The name of the method in RFC 7591 §2.
    var registeredName: String {
        switch self {
        case .basic: "client_secret_basic"
        case .post: "client_secret_post"
        case .none, .client_secret_jwt, .private_key_jwt: rawValue
        }
    }
}

/// The audience of a client assertion: `issuer`, `token-endpoint` or a URL.
struct AssertionAudience: ExpressibleByArgument, Sendable {
    let argument: String
    let audience: ClientAuthentication.Audience

    init?(argument: String) {
        self.argument = argument
        switch argument {
        case "issuer": audience = .issuer
        case "token-endpoint": audience = .tokenEndpoint
        default:
            guard let url = try? SecureURL(argument) else { return nil }
            audience = .other(url.string)
        }
    }

    /// Returns nil for the default audience.
    init?(_ audience: ClientAuthentication.Audience) {
        switch audience {
        case .issuer, .endpoint: return nil
        case .tokenEndpoint: self.init(argument: "token-endpoint")
        case .other(let url): self.init(argument: url)
        }
    }
}
