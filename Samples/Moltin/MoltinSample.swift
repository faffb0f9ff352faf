internal import AppAuthLegacy
internal import ArgumentParser
internal import SampleSupport

/// The program `moltin`: the five functions of a shop's app.
@main
struct MoltinSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case auth, badAuth = "bad-auth", refresh, delete, products
    }

    static let configuration = CommandConfiguration(
        commandName: "moltin", abstract: "Gets a token of Moltin's first API, and lists the products with it.",
        discussion: """
            Performs the actions in order. By default, it starts a double of Moltin on this machine, and stops it at \
            the end. With --server, it uses a real server (https://api.molt.in), and keeps the token for the next run.
            """)

    @Argument(help: "The actions.") var actions: [Action] = [.auth, .products, .refresh, .products, .delete]
    @OptionGroup var server: Server

    func run() async throws {
        try await server.visit("moltin") { location in
            let shop = try Shop(at: location)
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
}
