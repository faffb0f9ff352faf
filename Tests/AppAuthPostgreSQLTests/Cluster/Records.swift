import AppAuth
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import JOSE
import ScriptedBrowser

extension AuthStateRecord {
    /// A made-up session. The client ID tells sessions apart.
    static func sample(_ name: String = "client", refreshToken: String = "the-refresh-token") throws -> AuthStateRecord
    {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        return try AuthStateRecord(
            client: Client(id: name, provider: provider), accessToken: nil, refreshToken: Secret(refreshToken))
    }

    /// The same session, with an access token that has expired.
    func expired() throws -> AuthStateRecord {
        var json = try JSON(parsing: encoded()).object ?? [:]
        var token = json["accessToken"]?.object ?? [:]
        token["lifetime"] = 0
        json["accessToken"] = .object(token)
        return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "a test")
    }
}

extension TokenStore {
    func put(_ record: AuthStateRecord?) async throws { try await update { $0 = record } }

    var name: String? { get async throws { try await load()?.client.id } }
}

extension LocalProvider {
    /// Signs the user in, and stores the session.
    func signIn(store: any TokenStore) async throws -> AuthState {
        try await withScriptedBrowser(entries: ["username": "alice", "password": "looking-glass"]) { browser in
            var signIn = try SignIn(issuer: Issuer(self.issuer), clientID: "demo", appName: "Test")
            signIn.browser = browser
            return try await signIn.run(store: store)
        }
    }
}

extension PostgreSQLDatabase.Options {
    /// Options for a test of a failure.
    static var quick: Self {
        var options = Self()
        options.callTimeout = .seconds(1)
        return options
    }
}
