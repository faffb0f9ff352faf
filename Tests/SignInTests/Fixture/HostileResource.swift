import AppAuthTestProvider
import HTTPTypes
import JOSE
import Testing

/// Runs a test with the owner's server, in the fixture, and an honest provider that sends no `iss` and knows a public
/// client of its own.
func withHostileResource(
    registering registration: JSON.Object = [:],
    _ change: (inout LocalProvider.Configuration) -> Void = { _ in },
    _ body: (_ fixture: CommandFixture, _ url: String, _ honest: LocalProvider) async throws -> Void
) async throws {
    var honest = LocalProvider.Configuration.device
    honest.sendsIssuerParameter = false
    honest.clients.append(
        RegisteredClient(id: "honest-app", name: "Honest", redirectURIs: ["http://127.0.0.1/callback"]))
    var hostile = LocalProvider.Configuration.device
    hostile.sendsIssuerParameter = false
    hostile.resourceDescription = ResourceDescription(scopes: ["api"])
    change(&hostile)
    try await withLocalProvider(honest) { honest in
        try await withDesk(hostile) { fixture in
            fixture.provider.fault(
                .editDocument { document in
                    document["client_id"] = "honest-app"
                    for member in registration.members { document[member.name] = member.value }
                }, at: .clientRegistration, times: nil)
            try await body(fixture, fixture.provider.url(.api), honest)
        }
    }
}

/// The host of an issuer on loopback, as questions and errors show it.
func host(of issuer: String) -> String { issuer.replacing("http://", with: "") }

/// Returns the last command line of a message.
func commandLine(in message: String) throws -> String {
    try #require(message.ranges(of: "sign-in ").last.map { String(message[$0.lowerBound...]) }, "\(message)")
}
