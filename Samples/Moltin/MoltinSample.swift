internal import AppAuthLegacy
internal import ArgumentParser
internal import SampleSupport

/// `moltin`: the five buttons of a shop's app.
@main
struct MoltinSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case auth, badAuth = "bad-auth", refresh, delete, products
    }

    static let configuration = CommandConfiguration(
        commandName: "moltin", abstract: "Gets a token of Moltin's first API, and lists the products with it.",
        discussion: """
            Does the actions in their order, against a double of Moltin on this machine, which it starts and ends, unless \
            --server names another. The token of a real server is kept from one start to the next.
            """)

    @Argument(help: "What to do.") var actions: [Action] = [.auth, .products, .refresh, .products, .delete]
    @Flag(help: "Use a double of Moltin. The default.") var demo = false
    @Option(help: "A real server, for example https://api.molt.in.") var server: String?
    @Option(name: .customLong("client-id"), help: "The client id there.") var clientID: String?
    @Option(name: .customLong("client-secret-file"), help: "A file that holds the client's secret.")
    var secretFile: String?

    func validate() throws {
        guard (server != nil) == (clientID != nil), (server != nil) == (secretFile != nil) else {
            throw ValidationError("expected --server, --client-id and --client-secret-file together")
        }
        if demo, server != nil { throw ValidationError("expected --demo or --server, found both") }
    }

    func run() async throws {
        if let server, let clientID, let secretFile {
            let store = try StateFile.store("moltin")
            let secret = try PrivateFile.secret(secretFile)
            return try await perform(Shop(server: server, clientID: clientID, secret: secret, store: store))
        }
        let double = try DemoServer(double: "moltin")
        defer { double.end() }
        let demo = try await double.demo()
        tell("A double of Moltin is listening on this machine: \(demo["base_url"]?.string ?? "")")
        try await perform(
            Shop(
                server: demo["base_url"]?.string ?? "", clientID: demo["client_id"]?.string ?? "",
                secret: Secret(demo["client_secret"]?.string ?? ""), store: MemoryTokenStore()))
    }

    private func perform(_ shop: Shop) async throws {
        for action in actions {
            switch action {
            case .auth: try await shop.authenticate()
            case .badAuth: try await shop.authenticateWrongly()
            case .refresh: try await shop.refresh()
            case .delete: try await shop.deleteToken()
            case .products: try await shop.listProducts()
            }
        }
    }
}
