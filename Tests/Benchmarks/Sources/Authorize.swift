internal import AppAuth
internal import BenchReport

/// `authz SECONDS`
func authorize(for duration: Duration) throws -> Report {
    let provider = try ProviderMetadata(
        issuer: "https://accounts.example.org",
        endpoints: [
            .authorization: "https://accounts.example.org/authorize", .token: "https://accounts.example.org/token",
        ])
    let client = Client(id: "bench", provider: provider)
    let seconds = duration / .seconds(1)

    var (n, spent, length) = (0, Spent(), 0)
    let start = Spent.now
    repeat {
        for _ in 0..<64 {
            let request = try AuthorizationRequest(client: client, redirectURI: "http://127.0.0.1:49152/callback")
            length = request.url.utf8.count
        }
        n += 64
        spent = Spent.now - start
    } while spent.wall < seconds
    var report = Report(n: n, spent)
    report.add("len", length)
    return report
}
