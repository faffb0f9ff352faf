import Foundation

/// The built `sign-in` program, at one provider, with a store and a browser of its own.
struct SignIn {
    let provider: Provider
    let client: String
    let browser: Browser
    let workspace: Workspace

    /// The fixture of a test: a browser at the provider of the suite, and a fresh store.
    static func at(
        _ provider: Provider, client: String, decision: Browser.Decision = .agrees,
        _ body: (SignIn) async throws -> Void
    ) async throws {
        let profile = provider.profile
        let workspace = try Workspace()
        try await Browser.opened(
            at: profile.issuer, user: profile.user, password: profile.password, decision: decision
        ) {
            try await body(SignIn(provider: provider, client: client, browser: $0, workspace: workspace))
        }
    }

    var store: String { workspace.path("session") }

    /// Signs in; a confidential client with its secret, or with another one.
    func login(secret wrong: String? = nil, _ options: String...) async throws -> Program.Outcome {
        var arguments = ["--issuer", provider.profile.issuer, "--client-id", client]
        arguments += ["--scope", "openid profile email offline_access"]
        arguments += provider.profile.redirectPorts.flatMap { ["--redirect-port", String($0)] }
        if let secret = try wrong ?? provider.secret(of: client) {
            let file = try workspace.write(secret, to: "secret")
            defer { try? FileManager.default.removeItem(atPath: file) }
            return try await run(
                "login", arguments + ["--client-auth", "basic", "--client-secret-file", file] + options)
        }
        return try await run("login", arguments + options)
    }

    /// Runs one of the commands that find all they need in the store.
    func run(_ command: String, _ options: [String] = []) async throws -> Program.Outcome {
        var program = Program(executable: try Places.program("sign-in"))
        program.environment["BROWSER"] = browser.program
        return try await program.run([command, "--store", "file:\(store)", "--json", "--timeout", "60"] + options)
    }
}

/// The JSON of each command, as far as these tests read it.
extension SignIn {
    struct Claims: Decodable {
        let iss: String?
        let sub: String
        let aud: String?
        let name: String?
        let email: String?
    }

    struct Login: Decodable {
        let issuer: String
        let clientID: String
        let idTokenClaims: Claims
        let accessTokenExpiresAt: String?
        let scope: String
        let tokenType: String
        let hasRefreshToken: Bool
        let userinfo: Claims?

        enum CodingKeys: String, CodingKey {
            case issuer, scope, userinfo
            case clientID = "client_id"
            case idTokenClaims = "id_token_claims"
            case accessTokenExpiresAt = "access_token_expires_at"
            case tokenType = "token_type"
            case hasRefreshToken = "has_refresh_token"
        }
    }

    struct Token: Decodable {
        let accessToken: String
        let tokenType: String
        let expiresAt: String?
        let scope: String

        enum CodingKeys: String, CodingKey {
            case scope
            case accessToken = "access_token"
            case tokenType = "token_type"
            case expiresAt = "expires_at"
        }
    }

    struct Status: Decodable {
        struct Session: Decodable {
            let issuer: String
            let clientID: String
            let sub: String
            let hasRefreshToken: Bool
            let state: String

            enum CodingKeys: String, CodingKey {
                case issuer, sub, state
                case clientID = "client_id"
                case hasRefreshToken = "has_refresh_token"
            }
        }

        let sessions: [Session]
    }

    struct Logout: Decodable {
        let revoked: [String]
        let sessionEnded: Bool

        enum CodingKeys: String, CodingKey {
            case revoked
            case sessionEnded = "session_ended"
        }
    }

    struct Failure: Decodable {
        struct Reason: Decodable {
            let code: String
            let message: String
        }

        let error: Reason
    }
}
