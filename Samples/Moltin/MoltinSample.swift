internal import AppAuthLegacy
internal import ArgumentParser
internal import SampleSupport

/// The program `moltin`: the five buttons of a shop's app.
@main
struct MoltinSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case auth, badAuth = "bad-auth", refresh, delete, products
    }

    static let configuration = CommandConfiguration(
        commandName: "moltin", abstract: "Gets a token of Moltin's first API, and lists the products with it.",
        discussion: """
            Does the actions in their order, against a double of Moltin on this machine, which it starts and ends, unless \
            --server names another (https://api.molt.in). The token of a real server is kept from one start to the next.
            """)

    @Argument(help: "What to do.") var actions: [Action] = [.auth, .products, .refresh, .products, .delete]
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
