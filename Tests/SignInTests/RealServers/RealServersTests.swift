import Testing

/// What real servers do beside the specifications: a row for each.
@Suite(.timeLimit(.minutes(5)))
struct RealServersTests {
    @Test(arguments: RealServer.documents)
    func `metadata of a provider`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.resources)
    func `metadata of a resource`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.registrations)
    func `registration`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.requests)
    func `authorization request`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.responses)
    func `authorization response`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.tokens)
    func `tokens`(row: RealServer) async throws { try await row.check() }

    @Test(arguments: RealServer.refreshes)
    func `refresh and revocation`(row: RealServer) async throws { try await row.check() }
}
