internal import AppAuthFoundation
internal import ArgumentParser
internal import Foundation
internal import FoundationNetworking
internal import VendorSample

/// The program `ffs`: adds a token to the requests of an app.
@main
struct FFSSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case signIn = "sign-in", authenticate, call, invalidate, clear
    }

    static let configuration = CommandConfiguration(
        commandName: "ffs", abstract: "Signs in with a password, and adds the token to URLRequests.",
        discussion: """
            Performs the actions in order. By default, it starts a server on this machine, and stops it at the end. \
            With --server, it uses a real server, and keeps the tokens in the keyring for the next run.
            """)

    @Argument(help: "The actions.") var actions: [Action] = [.signIn, .authenticate, .call, .invalidate, .call, .clear]
    @OptionGroup var server: Server
    @Option(help: "The user who signs in at a real server.") var username: String?
    @Option(name: .customLong("password-file"), help: "A file with the password, readable only by you (chmod 600).")
    var passwordFile: String?
    @Option(name: .customLong("token-path"), help: "The path of the token endpoint at the server.")
    var tokenPath = "/token"
    @Option(name: .customLong("api-path"), help: "The path of the API at the server.") var apiPath = "/api/echo"

    func validate() throws {
        guard (username != nil) == (passwordFile != nil), username == nil || server.isReal else {
            throw ValidationError("expected --username and --password-file together, with --server")
        }
    }

    func run() async throws {
        try await server.visit("ffs", keeping: .keyring) { location in
            var tokenRequest = try request(location.url + tokenPath)
            tokenRequest.setValue("ffs", forHTTPHeaderField: "X-App")
            let authenticator = try Parts.authenticator(tokenRequest, at: location)
            let name = username ?? location.demo["username"]?.string
            let password =
                try passwordFile.map(PrivateFile.secret) ?? location.demo["password"]?.string.map { Secret($0) }
            for action in actions {
                try await perform(action, authenticator, request(location.url + apiPath), name, password)
            }
        }
    }

    private func perform(
        _ action: Action, _ authenticator: Authenticator, _ request: URLRequest, _ name: String?, _ password: Secret?
    ) async throws {
        switch action {
        case .signIn:
            guard let name, let password else {
                throw AuthError(.signInRequired, .token, "expected --username and --password-file")
            }
            try await authenticator.requestAccessToken(username: name, password: password)
            tell("Signed in as \(name).")
        case .authenticate:
            let ready = try await authenticator.authenticateRequest(request)
            let scheme = ready.value(forHTTPHeaderField: "Authorization")?.prefix { $0 != " " } ?? "no field"
            tell("The request has Authorization: \(scheme) …")
        case .call:
            let (data, response) = try await authenticator.data(for: request)
            tell("The API responded with status \(response.statusCode): \(String(decoding: data, as: UTF8.self))")
        case .invalidate:
            try await authenticator.invalidateAccessToken()
            tell("Replaced the access token.")
        case .clear:
            let hadTokens = try await authenticator.clearAccessToken()
            tell(hadTokens ? "Forgot the tokens." : "There were no tokens.")
        }
    }

    private func request(_ text: String) throws -> URLRequest {
        guard let url = URL(string: text) else {
            throw AuthError(.invalidConfiguration, .configuration, "expected a URL, found '\(text)'")
        }
        return URLRequest(url: url)
    }
}
