internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// The options that name the provider of a sign-in.
struct ProviderOptions: ParsableArguments, Sendable {
    /// The providers that need more than the standards.
    enum Preset: String, ExpressibleByArgument, CaseIterable, Sendable {
        case google, github

        var preset: ProviderPreset {
            switch self {
            case .google: .google
            case .github: .gitHub
            }
        }
    }

    @Option(parsing: .unconditional, help: "The provider's issuer URL.")
    var issuer: String?
    @Option(parsing: .unconditional, help: "A provider that needs more than the standards, instead of --issuer.")
    var preset: Preset?
    @Option(
        name: .customLong("authorization-endpoint"), parsing: .unconditional,
        help: "The URL for the browser, for a provider without discovery.")
    var authorizationEndpoint: String?
    @Option(
        name: .customLong("token-endpoint"), parsing: .unconditional,
        help: "The URL of the token endpoint, for a provider without discovery. The default scope is then empty.")
    var tokenEndpoint: String?
    @Option(
        name: .customLong("device-endpoint"), parsing: .unconditional,
        help: "The URL at which 'sign-in device' gets a code, for a provider without discovery.")
    var deviceEndpoint: String?

    func validate() throws {
        if tokenEndpoint == nil, authorizationEndpoint != nil || deviceEndpoint != nil {
            throw ValidationError("--authorization-endpoint and --device-endpoint need --token-endpoint")
        }
    }

    /// Checks that the options name a provider.
    func requireProvider() throws {
        guard issuer == nil, preset == nil, tokenEndpoint == nil else { return }
        throw ValidationError("Missing expected argument '--issuer <issuer>'")
    }

    static let names = [
        "--issuer", "--preset", "--authorization-endpoint", "--token-endpoint", "--device-endpoint",
    ]

    /// The options as they were given, for another command line.
    var words: [String] {
        zip(Self.names, [issuer, preset?.rawValue, authorizationEndpoint, tokenEndpoint, deviceEndpoint])
            .flatMap { name, value in value.map { [name, $0] } ?? [] }
    }

    /// Returns the provider. Without an issuer, the origin of the token endpoint serves as one.
    func provider() throws -> ProviderPreset {
        var provider = try preset?.preset ?? ProviderPreset(issuer: issuer, tokenEndpoint: tokenEndpoint)
        if let issuer { provider.issuer = try Issuer(issuer) }
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
        if let name { preset.metadata?[Self.member] = .string(name.rawValue) }
        return preset
    }
}

extension ProviderMetadata {
    /// The preset that a sign-in has noted in metadata of its own. A provider's metadata chooses no preset.
    var notedPreset: ProviderOptions.Preset? {
        isDiscovered ? nil : document[ProviderPreset.member]?.string.flatMap(ProviderOptions.Preset.init(rawValue:))
    }
}

extension Environment {
    /// Returns the environment with the dialect of a stored session's provider; nil if that is the standard one.
    func speaking(to provider: ProviderMetadata) -> Environment? {
        guard let dialect = provider.notedPreset?.preset.dialect else { return nil }
        var environment = self
        environment.dialect = dialect
        return environment
    }
}
