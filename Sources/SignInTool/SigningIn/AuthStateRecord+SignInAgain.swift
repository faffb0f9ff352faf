internal import AppAuth

extension AuthStateRecord {
    /// The words, after `sign-in`, of a command line that signs in as this session did, as far as the session knows: the
    /// path of a secret is `FILE`, as in the help.
    ///
    /// - Parameters:
    ///   - missing: Scopes to request in addition.
    ///   - name: The command; nil for the one of the first sign-in.
    func signInAgain(requesting missing: [Scope], by name: String?) -> [String] {
        let provider = client.provider
        let canUseDevice = source == nil && redirectURI == nil && provider[.deviceAuthorization] != nil
        var words = [name ?? (canUseDevice ? "device" : "login")]
        let registered = try? RegisteredClients.find(
            issuer: provider.issuer.string, clientID: client.id, for: resources)
        // The user's own clients need no registration in the session: they have a file, or were only named.
        let isAutomatic = provider.resource != nil && registered.map(\.isOurs) ?? (client.registration != nil)
        // The option --issuer would be the user's agreement to any page of that issuer. So the resource names it again.
        if provider.resource == nil {
            var options = ProviderOptions(of: provider)
            options.preset = preset
            words += options.words
        }
        if isOfDocument {
            words += ["--client-document", client.id]
        } else if !isAutomatic {
            words += ["--client-id", client.id]
        }
        if let registered {
            words += ClientOptions.words(changing: registered.client.authentication, to: client.authentication)
        } else if !isAutomatic {
            words += ClientOptions(of: client).words
        }
        words += client.idTokenRules.trustedAudiences.sorted().flatMap { ["--trusted-audience", $0] }
        // At a server of OAuth without OpenID Connect, a sign-in that requests an ID token fails.
        var configuration = ClientConfiguration(client, environment: .live)
        configuration.registration = registered?.client.registration ?? client.registration
        let standard = provider.isDiscovered ? configuration.scope(at: provider) { _ in } : []
        let isDefault = scope.allSatisfy(standard.contains) && standard.allSatisfy(requestedScope.contains)
        if !missing.isEmpty || !isDefault {
            let scope = scopeToRequestAgain.adding(missing)
            words += ["--scope", scope.spaceDelimited ?? ""]
        }
        // The URL that says where to sign in may be within the resource of the tokens.
        words += (provider.resource.map { [$0.string] } ?? resources).flatMap { ["--resource", $0] }
        if client.dpop != nil { words.append("--dpop") }
        if let provider = client.dpopKeyProvider { words += ["--key-in", provider.device] }
        if let source { words += ["--from", source.name] }
        // The redirect URI of a client whose file has gone was chosen for that client.
        guard words[0] == "login", !isAutomatic || registered != nil else { return words }
        return words + redirectWords(unless: registered?.redirectURI)
    }

    /// The preset of the sign-in. Only Entra's has an issuer policy, and it may be in another cloud of Microsoft's.
    private var preset: ProviderOptions.Preset? {
        client.idTokenRules.issuer == .exact ? client.provider.preset : .entra(at: client.provider.issuer)
    }

    /// Whether the client is a published one that the sign-in chose for a resource: then the redirect URI is the issuer's.
    private var isOfDocument: Bool {
        client.id.contains("://") && redirectURI.map(client.provider.issuer.owns) == true
            && client.registration == nil
    }

    /// The options for a redirect URI that is not the default one.
    ///
    /// - Parameter registered: The default of a registered client. Any option replaces all of it.
    private func redirectWords(unless registered: String?) -> [String] {
        guard let redirectURI else { return [] }
        let uri = isOfDocument ? client.provider.issuer.redirectBase(of: redirectURI) : redirectURI
        let words = words(of: uri)
        guard let registered else { return words }
        guard words != self.words(of: registered) else { return [] }
        return words.isEmpty ? ["--redirect-path", "/callback"] : words
    }

    private func words(of uri: String) -> [String] {
        guard let url = try? SecureURL(uri), url.isLoopback else { return ["--redirect-uri", uri] }
        var words = url.scheme == "https" ? ["--redirect-https", "FILE"] : []
        let usual = preset?.preset.redirectHost ?? .ipv4
        if url.host != usual.defaultValueDescription { words += ["--redirect-host", url.host] }
        if let port = url.port, !RedirectOptions.isChosenByKernel(port) { words += ["--redirect-port", "\(port)"] }
        if url.path != "/callback" { words += ["--redirect-path", url.path] }
        return words
    }

    /// The scopes that were requested and not granted. Some providers do not report `offline_access` as granted.
    var scopeNotGranted: [Scope] { requestedScope.filter { !scope.contains($0) && $0 != .offlineAccess } }

    /// The scopes to request again. Some providers do not report `offline_access` as granted.
    var scopeToRequestAgain: [Scope] {
        let couldRefresh = refreshToken != nil || end != nil
        return couldRefresh && client.provider.scopes?.contains("offline_access") == true
            ? scope.adding([.offlineAccess]) : scope
    }
}

extension ProviderMetadata {
    /// The preset of the sign-in. Discovered metadata has no note of it: there, it is the one of the issuer.
    var preset: ProviderOptions.Preset? {
        isDiscovered ? ProviderOptions.Preset(of: issuer) : notedPreset
    }
}

extension ProviderOptions {
    /// Creates the options that name the provider of a stored session.
    init(of provider: ProviderMetadata) {
        self.init()
        preset = provider.preset
        if provider.isDiscovered {
            if preset == nil || provider.location != nil { issuer = provider.issuer.string }
            if let location = provider.location { (preset, metadataURL) = (nil, location) }
            return
        }
        let known = preset?.preset
        func url(_ endpoint: ProviderMetadata.Endpoint) -> String? { provider.document[endpoint.rawValue]?.string }
        let endpoints: [ProviderMetadata.Endpoint] = [.token, .authorization, .deviceAuthorization]
        if endpoints.contains(where: { url($0) != known?.metadata?[$0.rawValue]?.string }) {
            (tokenEndpoint, authorizationEndpoint, deviceEndpoint) = (
                url(.token), url(.authorization), url(.deviceAuthorization)
            )
        }
        let implied = known?.issuer ?? (try? ProviderPreset(issuer: nil, tokenEndpoint: tokenEndpoint))?.issuer
        if implied != provider.issuer { issuer = provider.issuer.string }
    }
}

extension ClientOptions {
    /// Returns the options with which a client whose registered authentication is one uses the other, with the same secret.
    fileprivate static func words(
        changing registered: ClientAuthentication, to used: ClientAuthentication
    ) -> [String] {
        guard registered.method != used.method, used.secret != nil,
            let method = Method.allCases.first(where: { $0.registeredName == used.method })
        else { return [] }
        return ["--client-auth", method.rawValue]
    }

    /// Creates the options for the authentication of a stored client.
    init(of client: Client) {
        self.init()
        (secretFile, keyFile, assertionFile, method, audience) = (nil, nil, nil, nil, nil)
        let known = client.authentication
        switch known {
        case .clientSecretBasic(let secret), .clientSecretPost(let secret), .clientSecretJWT(let secret, _):
            secretFile = "FILE"
            let chosen = ClientAuthentication.secret(secret, for: client.provider)
            if chosen.method != known.method {
                let methods: [String: Method] = ["client_secret_basic": .basic, "client_secret_post": .post]
                method = methods[known.method] ?? .client_secret_jwt
            }
        case .privateKeyJWT(let path, _): keyFile = path
        case .assertion(let path): assertionFile = path
        case .none, .tlsClientAuth, .selfSignedTLSClientAuth: break
        }
        if case .clientSecretJWT(_, let known) = known { audience = AssertionAudience(known) }
        if case .privateKeyJWT(_, let known) = known { audience = AssertionAudience(known) }
    }
}
