import AppAuthProtocol
import AppAuthTestProvider
import JOSE
import Testing

/// The scenarios of the Model Context Protocol's conformance suite: the built command and the library pass each, and a client
/// that is wrong in only one respect fails it.
@Suite(.timeLimit(.minutes(5)))
struct ProtectedResourceTests {
    @Test(arguments: Scenario.required + Scenario.optional)
    func `the command passes`(scenario: Scenario) async throws {
        let failed = try await scenario.run { provider in
            let user = try CommandUser()
            if let task = scenario.task {
                let outcome = try await user.run(task.command(user, provider))
                #expect(outcome.code == scenario.refusal, "\(outcome)")
                return
            }
            let login = ["login", "--json", "--resource", provider.url(.api)]
            let signedIn = try await user.run(login + scenario.options(user, provider))
            #expect(signedIn.code == scenario.refusal, "\(signedIn)")
            guard scenario.refusal == nil else { return }
            let request = ["request", "POST", provider.url(.api), "--step-up", "--json", "--data", "{}"]
            for _ in 0..<scenario.calls {
                let used = try await user.run(request)
                #expect(used.json?["status"]?.int == scenario.status, "\(used)")
            }
        }
        #expect(failed == [])
    }

    @Test(arguments: Scenario.required + Scenario.optional)
    func `an app with the library passes`(scenario: Scenario) async throws {
        let failed = try await scenario.run { provider in
            if let task = scenario.task { return try await task.library(provider) }
            do {
                let statuses = try await LibraryUser(provider.url(.api), as: scenario.client).use(scenario.calls)
                #expect(scenario.refusal == nil && statuses.allSatisfy { $0 == scenario.status }, "\(statuses)")
            } catch let error as AuthError {
                #expect(error.code.rawValue == scenario.refusal, "\(error)")
            }
        }
        #expect(failed == [])
    }

    /// The three with several servers, or several requests, have suites of their own.
    @Test func `every scenario has a case`() {
        #expect(Set(Scenario.required.map(\.name)).count == 25 - 1)
        #expect(Set(Scenario.optional.map(\.name)).count == 6 - 2)
    }

    @Test(arguments: Scenario.required + Scenario.optional)
    func `of two small clients, the right one passes and the wrong one fails`(scenario: Scenario) async throws {
        #expect(try await scenario.failed(by: nil) == [])
        #expect(!scenario.flaws.isEmpty)
        for (flaw, failed) in scenario.flaws {
            let found = try await scenario.failed(by: flaw)
            #expect(found == failed, "\(flaw)")
        }
    }

    @Test(arguments: [
        (Flaw.sendsNoChallenge, ["pkce-code-challenge-sent"]), (.sendsPlainChallenge, ["pkce-s256-method-used"]),
        (.sendsOtherVerifier, ["pkce-verifier-matches-challenge"]),
        (.omitsResourceAtAuthorization, ["resource-parameter-in-authorization"]),
        (.omitsResourceAtToken, ["resource-parameter-in-token"]),
        (.requestsOtherResource, ["resource-parameter-valid-uri", "resource-parameter-consistency"]),
        (.namesNoApplicationType, ["application-type-present"]),
    ])
    func `the checks of every scenario can fail`(flaw: Flaw, failed: [String]) async throws {
        let scenario = Scenario("usual", [:]) { _ in [:] }
        #expect(try await scenario.failed(by: flaw) == Set(failed))
    }
}

extension Scenario {
    /// Runs a small client, and returns the checks that it fails. How far it gets is for them to see.
    func failed(by flaw: Flaw?) async throws -> Set<String> {
        try await run { provider in
            let client = SmallClient(flaw, as: client)
            if let task { return try await task.client(client, provider) }
            for _ in 0..<calls { try? await client.use(provider.url(.api)) }
        }
    }
}
