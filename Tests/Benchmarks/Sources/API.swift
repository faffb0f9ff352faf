internal import AppAuth
internal import BenchReport
internal import FoundationEssentials
internal import HTTPTypes

/// `api WIDTH SECONDS`
func api(width: Int, for duration: Duration) async throws -> Report {
    let url = try SecureURL(variable("API"))
    let request = HTTPRequest(method: .get, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
    let environment = Environment.live
    let record = try AuthStateRecord(
        client: Client(id: "bench", serverOf: url),
        accessToken: AccessToken(value: Secret("bench-token"), issuedAt: Date(), expiresAt: nil), refreshToken: nil)
    let state = try await AuthState(record: record, store: MemoryTokenStore(), environment: environment)

    let exchange = TransportRequest(request)
    var authorized = exchange
    authorized.head.headerFields[.authorization] = "Bearer bench-token"
    let byHand = authorized
    let bareGet = { @Sendable in try await environment.transport.send(byHand) }
    let authenticatedGet = { @Sendable in try await state.send(exchange) }
    // libcurl is loaded and every connection is made before the first slice.
    _ = try await slice(width: width, bareGet)

    var (bareCount, bare, authCount, auth) = (0, Spent(), 0, Spent())
    let seconds = duration / .seconds(1)
    while bare.wall + auth.wall < seconds {
        var start = Spent.now
        bareCount += try await slice(width: width, bareGet)
        bare += Spent.now - start
        start = Spent.now
        authCount += try await slice(width: width, authenticatedGet)
        auth += Spent.now - start
    }
    var both = bare
    both += auth
    var report = Report(n: bareCount + authCount, both)
    report.add("bare_n", bareCount)
    report.add("bare_cpu", bare.cpu)
    report.add("bare_wall", bare.wall)
    report.add("auth_n", authCount)
    report.add("auth_cpu", auth.cpu)
    report.add("auth_wall", auth.wall)
    return report
}

/// Sends for 100 ms, so many at a time.
///
/// - Returns: How many responses came.
private func slice(width: Int, _ send: @escaping @Sendable () async throws -> TransportResponse) async throws -> Int {
    let end = ContinuousClock.now + .milliseconds(100)
    return try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<width {
            group.addTask {
                var count = 0
                while ContinuousClock.now < end {
                    let status = try await send().status
                    guard status.kind == .successful else {
                        throw Failure("expected a successful response, found status \(status.code)")
                    }
                    count += 1
                }
                return count
            }
        }
        return try await group.reduce(0, +)
    }
}
