internal import ArgumentParser
internal import AppAuthTestProvider

/// The vendors whose servers can be simulated.
enum VendorArgument: String, CaseIterable, ExpressibleByArgument {
    case sevenPass = "seven-pass"
    case ffs
    case moltin
    case opro
    case sbanken

    /// The clients and users of the command line.
    struct Registrations {
        let clients: [RegisteredClient]
        let redirectURIs: [String]
        let users: [User]
        let keepsUsers: Bool
    }

    /// Which of the options for registrations have an effect with this double.
    var registrationOptions: Set<String> {
        switch self {
        case .sevenPass: ["--client", "--redirect-uri", "--user"]
        case .ffs: ["--user"]
        case .opro: ["--client", "--keep-users", "--user"]
        case .moltin, .sbanken: []
        }
    }

    /// - Parameter accessTokenLifetime: The lifetime in seconds; nil for the vendor's own.
    func start(
        _ options: DoubleOptions, accessTokenLifetime: Int?, _ registrations: Registrations
    ) async throws -> any VendorDouble {
        switch self {
        case .sevenPass:
            var configuration = SevenPass.Configuration()
            configuration.options = options
            configuration.accessTokenLifetime = accessTokenLifetime ?? configuration.accessTokenLifetime
            configuration.register(registrations.clients, redirectURIs: registrations.redirectURIs)
            configuration.register(registrations.users)
            return try await SevenPass.start(configuration)
        case .ffs:
            var configuration = FFSAuthenticator.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            if !registrations.users.isEmpty { configuration.users = registrations.users }
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
            configuration.register(registrations.users)
            configuration.deletesUsers = !registrations.keepsUsers
            for client in registrations.clients.reversed() {
                configuration.clients.insert((client.id, client.secret ?? ""), at: 0)
            }
            return try await OPro.start(configuration)
        case .sbanken:
            var configuration = Sbanken.Configuration()
            configuration.options = options
            configuration.tokenLifetime = accessTokenLifetime ?? configuration.tokenLifetime
            return try await Sbanken.start(configuration)
        }
    }
}
