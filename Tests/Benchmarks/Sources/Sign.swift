internal import AppAuth
internal import BenchReport

/// `sign KEY SECONDS`
func sign(with name: String, for duration: Duration) async throws -> Report {
    let provider = try ProviderMetadata(
        issuer: "https://accounts.example.org",
        endpoints: [
            .authorization: "https://accounts.example.org/authorize", .token: "https://accounts.example.org/token",
        ])
    let client = Client(id: "bench", authentication: .privateKeyJWT(keyNamed: name), provider: provider)
    var environment = Environment.live
    // The key is opened once, as for many requests of one session.
    let key = try await environment.clientKey(name)
    environment.clientKey = { _ in key }
    var options = AuthorizationRequest.Options()
    options.signingKeyName = name
    let request = try AuthorizationRequest(
        client: client, redirectURI: "http://127.0.0.1:49152/callback", options: options)
    let seconds = duration / .seconds(1)

    var (n, spent) = (0, Spent())
    let start = Spent.now
    repeat {
        _ = try await request.prepared(in: environment)
        n += 1
        spent = Spent.now - start
    } while spent.wall < seconds
    return Report(n: n, spent)
}
