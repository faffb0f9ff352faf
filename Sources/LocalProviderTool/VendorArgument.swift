internal import ArgumentParser
internal import AppAuthTestProvider

/// The vendors whose servers can be simulated.
enum VendorArgument: String, CaseIterable, ExpressibleByArgument {
    case sevenPass = "seven-pass"
    case ffs
    case moltin
    case opro
    case sbanken

    /// - Parameter accessTokenLifetime: The lifetime in seconds; nil for the vendor's own.
    func start(_ options: DoubleOptions, accessTokenLifetime: Int?) async throws -> any VendorDouble {
        switch self {
        case .sevenPass:
            var configuration = SevenPass.Configuration()
            configuration.options = options
            configuration.accessTokenLifetime = accessTokenLifetime ?? configuration.accessTokenLifetime
            return try await SevenPass.start(configuration)
        case .ffs:
            var configuration = FFSAuthenticator.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            return try await FFSAuthenticator.start(configuration)
        case .moltin:
            var configuration = Moltin.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            return try await Moltin.start(configuration)
        case .opro:
            var configuration = OPro.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            return try await OPro.start(configuration)
        case .sbanken:
            var configuration = Sbanken.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            return try await Sbanken.start(configuration)
        }
    }
}
