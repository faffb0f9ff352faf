import AppAuthTestProvider

/// Runs a test with a provider that also has a protected API, which names it (RFC 9728), and with the URL of that API.
func withResourceProvider(
    _ description: ResourceDescription = .init(scopes: ["api"]),
    _ change: (inout LocalProvider.Configuration) -> Void = { _ in },
    _ body: (CommandFixture, String) async throws -> Void
) async throws {
    var configuration = LocalProvider.Configuration.device
    configuration.resourceDescription = description
    change(&configuration)
    try await withDesk(configuration) { fixture in try await body(fixture, fixture.provider.url(.api)) }
}
