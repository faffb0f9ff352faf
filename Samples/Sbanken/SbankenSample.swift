internal import AppAuthLegacy
internal import ArgumentParser
internal import FoundationEssentials
internal import VendorSample

/// The program `sbanken`: a bank's API, for the owner of the accounts.
@main
struct SbankenSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument { case token, accounts }

    static let configuration = CommandConfiguration(
        commandName: "sbanken", abstract: "Gets a token of S'banken, and lists the accounts with it.",
        discussion: """
            Performs the actions in order. By default, it starts a simulated bank on this machine, and stops it at \
            the end. With --config or --environment, it uses the bank's server. Without --store, the token is \
            forgotten at the end.
            """)

    @Argument(help: "The actions.") var actions: [Action] = [.token, .accounts]
    @Flag(help: "Use a simulated bank on this machine. The default.") var demo = false
    @Option(
        help: #"A file, readable only by you (chmod 600), with {"client_id":"…","client_secret":"…"}."#)
    var config: String?
    @Flag(help: "Read SBANKEN_CLIENT_ID and SBANKEN_CLIENT_SECRET from the environment.") var environment = false
    @Flag(name: .customLong("show-token"), help: "Print the token itself, for example for curl. Keep it secret.")
    var showToken = false
    @Option(
        help: ArgumentHelp("Where to keep the token for the next run: keyring or file:PATH.", valueName: "place"),
        transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @Option(help: "The authorization server.") var server = "https://auth.sbanken.no"
    @Option(help: "The server of the accounts API.") var api = "https://api.sbanken.no"

    func validate() throws {
        guard [demo, config != nil, environment].count(where: \.self) <= 1 else {
            throw ValidationError("expected one of --demo, --config and --environment, found several")
        }
        guard store == nil || config != nil || environment else {
            throw ValidationError("expected --store only with --config or --environment")
        }
    }

    func run() async throws {
        if let credentials = try config.map(Credentials.init(file:)) ?? (environment ? .fromEnvironment() : nil) {
            let store = store?.store(of: "sbanken", at: server, clientID: credentials.id)
            return try await perform(Bank(credentials, server: server, api: api, store: store ?? MemoryTokenStore()))
        }
        let double = try DemoServer(double: "sbanken")
        defer { double.end() }
        let demo = try double.demo()
        let server = demo["base_url"]?.string ?? ""
        tell("The simulated server of the bank is at \(server)")
        let credentials = try Credentials(demo, from: "the simulated server")
        try await perform(Bank(credentials, server: server, api: server, store: MemoryTokenStore()))
    }

    private func perform(_ bank: Bank) async throws {
        for action in actions {
            switch action {
            case .token: try await bank.getToken(printing: showToken)
            case .accounts: try await bank.listAccounts()
            }
        }
    }
}

/// The client's ID and secret, which must not be in source code.
struct Credentials {
    let id: String
    let secret: Secret

    init(file path: String) throws {
        let text = try PrivateFile.text(path)
        try self.init((try? JSON(parsing: Array(text.utf8))) ?? .null, from: path)
    }

    static func fromEnvironment() throws -> Credentials {
        let variables = ProcessInfo.processInfo.environment
        let json: JSON = [
            "client_id": .string(variables["SBANKEN_CLIENT_ID"] ?? ""),
            "client_secret": .string(variables["SBANKEN_CLIENT_SECRET"] ?? ""),
        ]
        return try Credentials(json, from: "SBANKEN_CLIENT_ID and SBANKEN_CLIENT_SECRET")
    }

    init(_ json: JSON, from location: String) throws {
        guard let id = json["client_id"]?.string, let secret = json["client_secret"]?.string, id != "", secret != ""
        else {
            throw AuthError(
                .invalidConfiguration, .configuration, "expected client_id and client_secret in \(location), found none"
            )
        }
        (self.id, self.secret) = (id, Secret(secret))
    }
}

/// The bank, for the owner of the accounts. Uses client credentials, with which the session renews itself.
struct Bank {
    private let api: String
    private let client: Client
    private let environment: Environment
    private let store: any TokenStore

    init(_ credentials: Credentials, server: String, api: String, store: any TokenStore) throws {
        (self.api, self.store) = (api, store)
        client = Client(
            id: credentials.id, authentication: .clientSecretBasic(credentials.secret),
            provider: try ProviderMetadata(tokenEndpoint: server + "/identityserver/connect/token"))
        var environment = Environment.live
        environment.dialect = .sbanken
        self.environment = environment
    }

    func getToken(printing: Bool) async throws {
        let token = try await state().freshAccessToken()
        tell("Got a token, valid until \(token.expiresAt?.formatted(.iso8601) ?? "it is revoked").")
        if printing { tell(token.value.reveal()) }
    }

    func listAccounts() async throws {
        let url = api + "/exec.bank/api/v1/Accounts"
        let response = try await state().send(TransportRequest(.get, url))
        guard response.status == .ok, let accounts = (try? JSON(parsing: response.body))?["items"]?.array else {
            throw AuthError(
                .invalidResponse, .resource,
                "expected a list of accounts from \(url), found something else with status \(response.status.code)"
            )
        }
        for account in accounts {
            tell("  \(account["name"]?.string ?? "?") (\(account["accountType"]?.string ?? "?"))")
        }
    }

    private func state() async throws -> AuthState {
        try await AuthState.restoreOrPresent(.clientCredentials(), as: client, store: store, environment: environment)
    }
}
