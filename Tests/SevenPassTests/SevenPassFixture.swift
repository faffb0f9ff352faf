import AppAuthProtocol
import AppAuthSession
import FoundationEssentials
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import SevenPass
import Testing

/// The double; the library is a module of the same name.
typealias SevenPassDouble = SevenPass

/// A double of 7Pass, and an app with the same clock: if a test advances one, it advances the other.
struct SevenPassFixture: Sendable {
    let double: SevenPassDouble
    let issuer: Issuer
    let environment: Environment

    /// The newer registration: a public client.
    var configuration: SevenPassConfiguration {
        var configuration = SevenPassConfiguration(
            issuer: issuer, clientID: "seven-pass-app", apiBase: double.apiBase)
        configuration.facebook = .init(appID: "734789116545825", externalCallback: double.externalCallback)
        return configuration
    }

    /// An older registration, with a secret.
    var olderConfiguration: SevenPassConfiguration {
        SevenPassConfiguration(
            issuer: issuer, clientID: "seven-pass-legacy", clientSecret: Secret("legacy-secret"),
            apiBase: double.apiBase)
    }

    var credentialsConfiguration: SevenPassConfiguration {
        SevenPassConfiguration(
            issuer: issuer, clientID: "seven-pass-credentials", clientSecret: Secret("credentials-secret"),
            apiBase: double.apiBase)
    }

    static let alice = ["username": "alice@example.com", "password": "looking-glass"]

    /// Works with a browser in which Alice sits.
    func withAlice<Value: Sendable>(_ body: @escaping @Sendable (Browser) async throws -> Value) async throws -> Value {
        try await withScriptedBrowser(entries: Self.alice, transport: environment.transport, body)
    }

    /// Signs Alice in by the browser.
    func signIn(
        _ configuration: SevenPassConfiguration? = nil, store: any TokenStore = MemoryTokenStore(),
        _ change: @escaping @Sendable (inout SignIn) -> Void = { _ in }
    ) async throws -> AuthState {
        let configuration = configuration ?? self.configuration
        return try await withAlice { browser in
            var signIn = SignIn(configuration, appName: "Tests", environment: environment)
            signIn.browser = browser
            change(&signIn)
            return try await signIn.run(store: store)
        }
    }

    /// Alice's session without a browser, for the steps after the sign-in.
    func session(
        accessToken: String? = nil, store: any TokenStore = MemoryTokenStore()
    ) async throws -> (state: AuthState, client: SevenPassClient) {
        let minted = try double.provider.mintSession(
            client: configuration.clientID, scope: "openid profile email offline_access")
        let provider = try await Discovery(environment: environment).metadata(for: issuer)
        let token = AccessToken(
            value: Secret(accessToken ?? minted.accessToken), received: environment.now(), lifetime: .seconds(7200))
        let record = try AuthStateRecord(
            client: Client(id: configuration.clientID, provider: provider), scope: configuration.scope,
            accessToken: token, refreshToken: minted.refreshToken.map { Secret($0) })
        let state = try await AuthState(record: record, store: store, environment: environment)
        return (state, try SevenPassClient(state, configuration))
    }
}

func withSevenPass(
    _ change: (inout SevenPassDouble.Configuration) -> Void = { _ in },
    _ body: (SevenPassFixture) async throws -> Void
) async throws {
    var configuration = SevenPassDouble.Configuration()
    change(&configuration)
    let double = try await SevenPassDouble.start(configuration)
    let environment = Environment(
        transport: CurlTransport(.init(proxy: .none)), now: { [clock = double.clock] in Timestamp(wall: clock.now) })
    let result: Result<Void, any Error>
    do {
        let fixture = SevenPassFixture(double: double, issuer: try Issuer(double.issuer), environment: environment)
        result = .success(try await body(fixture))
    } catch {
        result = .failure(error)
    }
    await double.stop()
    try result.get()
}
