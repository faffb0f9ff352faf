internal import AppAuthLegacy
internal import ArgumentParser
internal import VendorSample

/// The program `moltin`: the functions of a shop's app, and each grant of its API.
@main
struct MoltinSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case auth, badAuth = "bad-auth", implicit, code, refresh, refreshToken = "refresh-token", delete, products
    }

    static let firstAction = "auth"
    static let configuration = CommandConfiguration(
        commandName: "moltin", abstract: "Gets a token of Moltin's first API, and lists the products with it.",
        discussion: """
            Performs the actions in order. By default, it starts a simulated Moltin server on this machine, and stops \
            it at the end. With --server, it uses a real server (https://api.molt.in), and keeps the token for the next run.

            auth uses client credentials, implicit only the client ID, and code an authorization code. refresh renews \
            a token in the way in which the session began. refresh-token sends the refresh token, which only a \
            session of code has, and then the old access token in its place. products works without a token too, and \
            shows what the server says to that.
            """)

    @Argument(help: "The actions.")
    var actions: [Action] = [
        .auth, .products, .refresh, .implicit, .products, .code, .refreshToken, .products, .delete,
    ]
    @OptionGroup var server: Server
    @Option(name: .customLong("code-file"), help: "A file with an authorization code, readable only by you.")
    var codeFile: String?
    @Option(name: .customLong("redirect-uri"), help: "The redirect URI for which the code was issued.")
    var redirectURI: String?

    func validate() throws {
        guard (codeFile != nil) == (redirectURI != nil), codeFile == nil || server.isReal else {
            throw ValidationError("expected --code-file and --redirect-uri together, with --server")
        }
    }

    func run() async throws {
        try await server.visit("moltin") { location in
            let shop = try Shop(at: location)
            let code = try codeFile.map(PrivateFile.secret) ?? location.demo["code"]?.string.map { Secret($0) }
            for action in actions {
                switch action {
                case .auth: try await shop.authenticate()
                case .badAuth: try await shop.authenticateWrongly()
                case .implicit: try await shop.authenticateForReading()
                case .code:
                    let uri = redirectURI ?? location.demo["redirect_uri"]?.string
                    try await shop.authenticate(with: code, redirectURI: uri)
                case .refresh: try await shop.refresh()
                case .refreshToken: try await shop.refreshByToken()
                case .delete: try await shop.deleteToken()
                case .products: try await shop.listProducts()
                }
            }
        }
    }
}
