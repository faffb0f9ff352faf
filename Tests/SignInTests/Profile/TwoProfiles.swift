import AppAuthTestProvider
import JOSE
import Testing

/// Runs a test after alice has signed in with the profile `work`, and bob with the profile `home`.
func withTwoProfiles(_ body: (CommandFixture) async throws -> Void) async throws {
    var configuration = LocalProvider.Configuration.demo
    configuration.users.append(.bob)
    try await withDesk(configuration) { fixture in
        try await fixture.signIn(profile: "work")
        try await fixture.signIn(scope: "openid", profile: "home", as: .bob)
        try await body(fixture)
    }
}

extension CommandFixture {
    /// The user of the session that the arguments name.
    func subject(_ arguments: [String]) async throws -> String? {
        try await start(["userinfo", "--json"] + arguments).outcome().result()["sub"]?.string
    }
}
