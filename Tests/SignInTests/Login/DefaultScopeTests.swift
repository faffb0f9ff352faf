import AppAuthConcurrency
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The default scope, as far as the provider supports it (OpenID Connect Discovery §3).
@Suite(.timeLimit(.minutes(5)))
struct DefaultScopeTests {
    private func asked(
        _ supported: JSON?, _ arguments: [String] = [], command: String = "login"
    ) async throws -> (scope: String?, errors: String) {
        let result = LockedValue<(String?, String)>((nil, ""))
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["scopes_supported"] = supported }, at: .openIDConfiguration, times: nil)
            let outcome = try await fixture.start(fixture.loginArguments(arguments)).outcome()
            #expect(outcome.status == 0, "\(outcome)")
            let scope = fixture.provider.log(.authorization).first?.query["scope"]
            result.withLock { $0 = (scope, outcome.errors) }
        }
        return result.withLock { $0 }
    }

    @Test func `the default omits scopes that the provider does not list, and says so`() async throws {
        let (scope, errors) = try await asked(["openid", "profile", "email"])
        #expect(scope == "openid profile")
        #expect(errors.contains("offline_access") && errors.contains("--scope"), "\(errors)")
    }

    @Test(arguments: [nil, ["openid", "profile", "offline_access"]] as [JSON?])
    func `the default is complete if the provider lists all scopes, or none`(supported: JSON?) async throws {
        let (scope, errors) = try await asked(supported)
        #expect(scope == "openid profile offline_access" && !errors.contains("offline_access is"), "\(errors)")
    }

    @Test func `a scope that the user names is sent as it is`() async throws {
        let (scope, errors) = try await asked(["openid"], ["--scope", "openid offline_access"])
        #expect(scope == "openid offline_access" && !errors.contains("--scope"), "\(errors)")
    }

    // OpenID Connect Discovery §3: every server supports it.
    @Test func `openid is requested even if the provider does not list it`() async throws {
        #expect(try await asked(["profile"]).scope == "openid profile")
    }
}
