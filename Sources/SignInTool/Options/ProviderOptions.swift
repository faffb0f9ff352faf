internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// Where a provider's metadata is, if that does not follow from the issuer.
struct MetadataOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("metadata-url"), parsing: .unconditional,
        help: "The URL of the provider’s metadata, if it is elsewhere than its issuer says. It must name that issuer.",
        transform: SecureURL.init(argument:))
    var url: SecureURL?
}

extension SecureURL {
    /// Reads the value of an option.
    init(argument: String) throws {
        do { try self.init(argument) } catch let error as AuthError { throw ValidationError(error.message) }
    }
}

/// Where a provider's metadata is, or its endpoints, if that does not follow from the issuer.
struct EndpointOptions: ParsableArguments, Sendable {
    @OptionGroup(title: OptionTitle.provider) var metadata: MetadataOptions
    @Option(
        name: .customLong("authorization-endpoint"), parsing: .unconditional,
        help: "The URL for the browser, for a provider without discovery.")
    var authorization: String?
    @Option(
        name: .customLong("token-endpoint"), parsing: .unconditional,
        help: "The URL of the token endpoint, for a provider without discovery. The default scope is then empty.")
    var token: String?
    @Option(
        name: .customLong("device-endpoint"), parsing: .unconditional,
        help: "The URL at which 'sign-in device' gets a code, for a provider without discovery.")
    var device: String?

    func validate() throws {
        if token == nil, authorization != nil || device != nil {
            throw ValidationError("--authorization-endpoint and --device-endpoint need --token-endpoint")
        }
    }
}

/// The options that name the provider of a sign-in.
struct ProviderOptions: Sendable {
    var issuer: String?
    var preset: Preset?
    var metadataURL: SecureURL?
    var authorizationEndpoint: String?
    var tokenEndpoint: String?
    var deviceEndpoint: String?

    /// Whether the options name a provider.
    var isNamed: Bool { issuer != nil || preset != nil || tokenEndpoint != nil }

    func check() throws {
        guard metadataURL != nil else { return }
        if issuer == nil { throw ValidationError("--metadata-url needs --issuer") }
        if preset != nil || tokenEndpoint != nil {
            throw ValidationError("--metadata-url excludes --preset and --token-endpoint")
        }
    }

    /// The wrong usage that the options name none.
    static let missing = WrongUsage("expected --issuer and --client-id, or the --profile of a sign-in")

    /// The wrong usage that no client of the provider is known.
    var noClient: WrongUsage {
        // Without discovery there is no registration, and the presets' providers offer none.
        let canRegister = preset == nil && tokenEndpoint == nil
        return WrongUsage(
            "expected --client-id"
                + (canRegister
                    ? ", since no client is registered: see 'sign-in register'"
                    : ": register your app at the provider, which gives it an id"))
    }

    /// The options as they were given, for another command line.
    var words: [String] {
        zip(
            SignInLine.providerOptions,
            [issuer, preset?.name, metadataURL?.string, authorizationEndpoint, tokenEndpoint, deviceEndpoint]
        )
        .flatMap { name, value in value.map { [name, $0] } ?? [] }
    }

    /// Returns the provider. Without an issuer, the origin of the token endpoint serves as one.
    func provider() throws -> ProviderPreset {
        var provider = try preset?.preset ?? ProviderPreset(issuer: issuer, tokenEndpoint: tokenEndpoint)
        if let issuer {
            provider.issuer = try Issuer(issuer)
            // Microsoft's other clouds have the same paths.
            if provider.issuerPolicy != .exact, let tenant = preset?.tenant {
                provider.issuerPolicy = .template(issuer.replacing("/\(tenant)/", with: "/{tenantid}/"))
            }
        }
        guard let tokenEndpoint else { return provider.noting(preset) }
        var metadata = provider.metadata ?? .init()
        metadata["token_endpoint"] = .string(tokenEndpoint)
        if let authorizationEndpoint { metadata["authorization_endpoint"] = .string(authorizationEndpoint) }
        if let deviceEndpoint { metadata["device_authorization_endpoint"] = .string(deviceEndpoint) }
        // Without keys, ID tokens cannot be verified.
        (provider.metadata, provider.scope) = (metadata, provider.scope ?? [])
        return provider.noting(preset)
    }
}

extension ProviderOptions {
    init(_ usual: UsualOptions, _ endpoints: EndpointOptions) {
        (issuer, preset, metadataURL) = (usual.issuer, usual.preset, endpoints.metadata.url)
        (authorizationEndpoint, tokenEndpoint, deviceEndpoint) = (
            endpoints.authorization, endpoints.token, endpoints.device
        )
    }
}

extension ProviderPreset {
    /// The member of stored metadata that names the preset.
    fileprivate static let member = "sign_in_preset"

    /// Creates a preset from an issuer, or from the endpoint of a server without discovery.
    init(issuer: String?, tokenEndpoint: String?) throws {
        if let issuer {
            self.init(issuer: try Issuer(issuer))
        } else {
            let provider = try ProviderMetadata(tokenEndpoint: tokenEndpoint ?? "")
            self.init(issuer: provider.issuer)
            metadata = provider.document
        }
    }

    /// Returns the preset with its name in its metadata, for later commands: a dialect is not stored.
    fileprivate func noting(_ name: ProviderOptions.Preset?) -> ProviderPreset {
        var preset = self
        if let name { preset.metadata?[Self.member] = .string(name.name) }
        return preset
    }
}

extension ProviderMetadata {
    /// The preset that a sign-in has noted in metadata of its own. A provider's metadata chooses no preset.
    var notedPreset: ProviderOptions.Preset? {
        isDiscovered ? nil : document[ProviderPreset.member]?.string.flatMap { try? ProviderOptions.Preset($0) }
    }
}

extension Environment {
    /// Returns the environment for a stored session: with the dialect of its provider, and with what its sign-in has named of
    /// the network, unless the command line names that; nil if that is this one.
    func suiting(_ record: AuthStateRecord, as signIn: SignInLine?) -> Environment? {
        let dialect = record.client.provider.notedPreset?.preset.dialect
        let transport = signIn.flatMap(transport(of:))
        guard dialect != nil || transport != nil else { return nil }
        var environment = self
        if let dialect { environment.dialect = dialect }
        if let transport { environment.transport = transport }
        return environment
    }

    /// Returns the transport with the options of a sign-in that this one lacks; nil if it lacks none.
    private func transport(of line: SignInLine) -> CurlTransport? {
        guard let own = (transport as? CurlTransport)?.configuration else { return nil }
        var network = own
        // That file decides which servers get the tokens.
        let caFile = line.value(of: "--ca-file").flatMap { OwnPlace.isPlanted($0) ? nil : $0 }
        if own.additionalRoots.isEmpty { network.additionalRoots = caFile.map { [$0] } ?? [] }
        let method = line.value(of: "--proxy-auth").flatMap(CurlTransport.ProxyAuthentication.init(rawValue:))
        if own.proxyAuthentication == .basic, let method { network.proxyAuthentication = method }
        return network == own ? nil : CurlTransport(network)
    }
}

extension ProviderMetadata {
    /// Returns the metadata with the user's URL for an endpoint.
    func with(_ endpoint: Endpoint, at url: String?) throws -> ProviderMetadata {
        guard let url else { return self }
        var document = document
        document[endpoint.rawValue] = .string(url)
        var metadata = try ProviderMetadata(document: .object(document))
        metadata.location = location
        return metadata
    }
}
