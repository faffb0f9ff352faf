internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in register`.
struct Register: Command {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Registers a client at a provider (RFC 7591), for 'sign-in login' to use.",
        discussion: """
            Example: sign-in register --issuer https://accounts.example.org --redirect-uri \
            http://127.0.0.1/callback
            """)

    @Option(
        name: .customLong("issuer"), parsing: .unconditionalSingleValue,
        help: """
            The provider’s issuer URL. With --client-document, an issuer at which 'sign-in login --client-document' uses \
            the document: give it for each one.
            """)
    var issuers: [String] = []
    @Option(
        name: .customLong("client-document"), parsing: .unconditional,
        help: """
            The https URL at which you publish the client’s metadata: nothing is sent, and the document for this URL is \
            printed, with the redirect URI of each --issuer.
            """)
    var document: String?
    @Option(
        name: .customLong("redirect-uri"), parsing: .unconditionalSingleValue,
        help: "A redirect URI of the client, for example http://127.0.0.1/callback.")
    var redirectURIs: [String] = []
    @Option(parsing: .unconditional, help: "The scopes that the client may request, separated by spaces.")
    var scope: String?
    @Option(
        name: .customLong("registration-endpoint"), parsing: .unconditional,
        help: "The URL of the registration endpoint, if the provider’s metadata has none.")
    var registrationEndpoint: String?
    @Option(name: .customLong("client-name"), parsing: .unconditional, help: "The name of the client that users see.")
    var name: String?
    @Option(
        name: .customLong("initial-access-token-file"), parsing: .unconditional,
        help: "A file with the initial access token.", completion: .file())
    var initialAccessTokenFile: String?
    @Option(
        name: .customLong("software-statement-file"), parsing: .unconditional,
        help: "A file with a software statement (RFC 7591, section 2.3).", completion: .file())
    var softwareStatementFile: String?
    @Option(
        name: .customLong("client-auth"), parsing: .unconditional,
        help: "How the client will authenticate. (default: none, post or basic, the first that the provider lists)")
    var method: ClientOptions.Method?
    @Option(
        name: .customLong("client-key"), parsing: .unconditional,
        help: "The client’s private key for private_key_jwt: unencrypted PEM, or a JWK.",
        completion: .file())
    var keyFile: String?
    @OptionGroup var metadata: MetadataOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard !issuers.isEmpty || document != nil else {
            throw ValidationError("expected --issuer")
        }
        guard issuers.count < 2 || document != nil else {
            throw ValidationError("--issuer: a client is registered at one provider")
        }
        if document != nil {
            let others = [registrationEndpoint, initialAccessTokenFile, softwareStatementFile, metadata.url?.string]
            guard others.allSatisfy({ $0 == nil }), method.map({ [.none, .private_key_jwt].contains($0) }) ?? true
            else {
                throw ValidationError("--client-document takes no option for a registration, and no secret")
            }
        }
        for uri in redirectURIs {
            if let url = try? SecureURL(uri), url.isLoopback, !url.endsWithPath {
                throw ValidationError("--redirect-uri: expected a path and no query, as in http://127.0.0.1/callback")
            }
        }
        if redirectURIs.isEmpty {
            throw ValidationError("expected --redirect-uri, for example http://127.0.0.1/callback")
        }
        if (method == .private_key_jwt) != (keyFile != nil) {
            throw ValidationError("--client-auth private_key_jwt and --client-key go together")
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let (token, statement) = try (
            initialAccessTokenFile.map { try SecretFile.read($0, of: "--initial-access-token-file") },
            softwareStatementFile.map { try SecretFile.read($0, of: "--software-statement-file") }
        )
        let keyPath = try keyFile?.absoluteKeyName
        var uris = redirectURIs
        if document != nil, !issuers.isEmpty {
            // RFC 9700 §4.4.2: a redirect URI is for one issuer.
            let issuers = try issuers.map { try Issuer($0) }
            uris = redirectURIs.flatMap { uri in issuers.map { $0.redirectPath(for: uri) } }
        }
        var metadata = ClientMetadata(nativeAppWith: uris, name: name)
        metadata.tokenEndpointAuthMethod = method?.registeredName ?? "none"
        metadata.scope = scope.map([Scope].init(spaceDelimited:))
        if let keyPath { metadata.jwks = [try await console.environment.clientKey(keyPath).publicJWK] }
        guard document == nil, let issuer = issuers.first else {
            let document = try metadata.document(at: document ?? "")
            try console.succeed(document, text: document.serialized())
            if issuers.isEmpty {
                console.say(
                    "'sign-in login' uses this document only at the issuers that are given with --issuer: each needs a "
                        + "redirect URI of its own.")
            }
            return 0
        }
        let provider = try await provider(issuer, console.environment)
        if method == nil { metadata.tokenEndpointAuthMethod = provider.authMethodOfNewClient }
        try RegisteredClients.requireOwner()
        let request = try ClientRegistrationRequest(
            provider: provider, metadata: metadata, softwareStatement: statement, initialAccessToken: token)
        let registration = try await request.send(in: console.environment)
        // The client now exists at the provider, stored or not, usable or not: the printed document may be the only
        // copy.
        let registered = redirectURIs.filter { (try? registration.check(redirectURI: $0)) != nil }
        let preferred = SignIn.Redirect.preferred(registered)
        try await RegisteredClients.keep(
            registration, at: provider, keyNamed: keyPath, redirectURI: preferred, for: nil, console)
        var canSignIn = true
        do {
            if registered.isEmpty { try redirectURIs.first.map(registration.check(redirectURI:)) }
            if preferred == nil {
                throw AuthError(
                    .invalidConfiguration, .registration,
                    "it can receive no redirect to \(registered.joined(separator: ", ")), but to a loopback URI such as "
                        + "http://127.0.0.1/callback")
            }
            _ = try registration.client(at: provider, keyNamed: keyPath)
        } catch let error as AuthError {
            canSignIn = false
            console.note("the client is registered, but 'sign-in login' cannot use it: \(error.message)")
        }
        try console.succeed(registration.document, text: text(registration, at: provider, canSignIn))
        return 0
    }

    private func provider(_ issuer: String, _ environment: Environment) async throws -> ProviderMetadata {
        let discovery = Discovery(environment: environment)
        let found = try await discovery.metadata(for: Issuer(issuer), at: self.metadata.url).with(
            .registration, at: registrationEndpoint)
        // Some providers have the endpoint only in the document of RFC 8414.
        var provider = try await discovery.complete(found, with: .registration)
        provider = (try? await discovery.complete(provider, with: .keys)) ?? provider
        guard provider.names(.registration) else {
            throw AuthError(
                .invalidMetadata, .registration,
                "the provider \(issuer) has no 'registration_endpoint' in its metadata. If it has one, pass it with "
                    + "--registration-endpoint", outcome: .notSent)
        }
        return provider
    }

    private func text(_ registration: ClientRegistration, at provider: ProviderMetadata, _ canSignIn: Bool) -> String {
        var lines = ["Registered at \(provider.issuer) as \(registration.clientID.shownName)."]
        if let date = registration.clientSecretExpiresAt {
            lines.append("Its secret is valid until \(date.ISO8601Format()).")
        }
        lines += JSON.object(registration.metadata.members).lines
        var words = ["login", "--issuer", provider.issuer.string, "--client-id", registration.clientID]
        if let location = provider.location { words += ["--metadata-url", location.string] }
        if let scope {
            words += ["--scope", scope]
        } else if !provider.names(.keys) {
            // Without OpenID Connect there is no ID token.
            let registered = (registration.metadata.scope ?? []).filter { $0 != .openID }
            words += ["--scope", registered.spaceDelimited ?? ""]
        }
        words += common.wordsOfNetwork
        if canSignIn { lines.append("Sign in with: \(SignInLine(words).shellLine)") }
        return lines.map(\.onOneLine).joined(separator: "\n")
    }
}
