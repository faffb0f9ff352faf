import AppAuthServer
import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Client assertions from elsewhere (RFC 7521 §4.2, RFC 7523 §2.2).
struct WorkloadIdentityTests {
    @Test func `a file is read for each request, and the session stores only its name`() async throws {
        try await World.run { world in
            let folder = FileManager.default.temporaryDirectory.appending(path: "assertion-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let path = folder + "/token"
            let store = TestStore()
            var environment = world.environment
            environment.clientAssertion = Environment.live.clientAssertion
            let client = try await world.client("demo-service", .assertion(named: path))
            world.provider.fault(
                .status(.ok, json: ["access_token": "a", "token_type": "Bearer", "expires_in": 60]), at: .token,
                times: nil)
            try Data("first.assertion.\n".utf8).write(to: URL(filePath: path))
            _ = try await AuthState.restoreOrPresent(
                .clientCredentials(), as: client, store: store, environment: environment)
            try Data("second.assertion.".utf8).write(to: URL(filePath: path))
            let stored = try #require(await store.record).encoded()
            #expect(!String(decoding: stored, as: UTF8.self).contains("first.assertion"))
            let copy = TestStore(try AuthStateRecord(decoding: stored, from: "a test"))
            let state = try #require(try await AuthState(restoring: copy, environment: environment))
            _ = try await state.freshAccessToken(forceRefresh: true)
            let forms = world.provider.log(.token).map(\.form)
            #expect(forms.map { $0["client_assertion"] } == ["first.assertion.", "second.assertion."])
            #expect(
                forms.allSatisfy {
                    $0["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
                        && $0["client_id"] == "demo-service"
                })
            #expect(!world.log.lines.contains { $0.contains("assertion.") })
        }
    }

    @Test(arguments: ["", "two words", "a\u{1}"])
    func `a file without an assertion is refused before anything is sent`(content: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "assertion-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(content.utf8).write(to: URL(filePath: path))
        let error = await authError { try await Environment.live.clientAssertion(path) }
        #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
    }

    @Test func `a job of GitHub Actions requests its ID token for the audience`() async throws {
        try await World.run { world in
            world.provider.fault(.status(.ok, json: ["count": 10, "value": "job.id.token"]), at: .api)
            let job = try job(at: world.provider.url(.api) + "?api-version=2.0")
            let token = try await job.idToken(for: "api://Azure AD&x", in: world.environment)
            #expect(token.reveal() == "job.id.token")
            let sent = try #require(world.provider.log(.api).first)
            #expect(sent.query["audience"] == "api://Azure AD&x" && sent.query["api-version"] == "2.0")
            #expect(sent.headers[.authorization] == "Bearer request-token")
            #expect(!world.log.lines.contains { $0.contains("request-token") || $0.contains("job.id") })
        }
    }

    /// RFC 7523 §2.1.
    @Test func `the ID token of a job takes the place of a sign-in, and each refresh presents a new one`() async throws
    {
        let (key, issuer) = (try SigningKey.generate(.es256), "https://token.actions.githubusercontent.com")
        var configuration = LocalProvider.Configuration.demo
        configuration.clients = [RegisteredClient(id: "workload", grantTypes: [GrantType.jwtBearer.rawValue])]
        configuration.assertionIssuers = [TrustedIssuer(issuer, keys: [key.publicKey])]
        try await World.run(configuration) { world in
            let server = world.provider.issuer
            let end = Int(world.clock.now.timeIntervalSince1970) + 120
            let tokens = try ["one", "two"].map { id in
                let claims: JSON = [
                    "iss": .string(issuer), "sub": .string(User.alice.subject), "aud": .string(server),
                    "exp": .number(.init(end)), "jti": .string(id),
                ]
                return try JWS.sign(claims, with: key)
            }
            for token in tokens { world.provider.fault(.status(.ok, json: ["value": .string(token)]), at: .api) }
            let job = try job(at: world.provider.url(.api))
            var environment = world.environment
            environment.grantAssertion = { [environment] demand in
                try await job.idToken(for: demand.name, in: environment)
            }
            let store = TestStore()
            let state = try await AuthState.restoreOrPresent(
                .jwtBearer(assertionNamed: server), as: world.client("workload", .none), store: store,
                environment: environment)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.log(.api).map(\.query["audience"]) == [server, server])
            #expect(world.provider.log(.token).map(\.form["assertion"]) == tokens)
            #expect(world.provider.log(.token).allSatisfy { $0.form["client_assertion"] == nil && $0.status == 200 })
            let stored = try #require(await store.record).encoded()
            #expect(!tokens.contains(where: String(decoding: stored, as: UTF8.self).contains))
        }
    }

    @Test(arguments: [
        LocalProvider.Fault.status(.forbidden), .status(.ok, json: ["value": 1]), .status(.ok, json: [:]), .htmlPage,
    ])
    func `another response than an ID token is an error without secrets`(fault: LocalProvider.Fault) async throws {
        try await World.run { world in
            world.provider.fault(fault, at: .api)
            let error = await authError {
                try await job(at: world.provider.url(.api)).idToken(for: "x", in: world.environment)
            }
            #expect(error?.code == .invalidResponse && error?.message.contains("request-token") == false)
        }
    }

    @Test(arguments: [
        [:], ["ACTIONS_ID_TOKEN_REQUEST_URL": "https://x.example"],
        ["ACTIONS_ID_TOKEN_REQUEST_URL": "http://x.example", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"],
    ])
    func `a process that is no job, or an address that is not https, is refused`(variables: [String: String]) {
        let error = refusal { try GitHubActionsJob { variables[$0] } }
        #expect(error?.code == .invalidConfiguration)
    }

    private func job(at url: String) throws -> GitHubActionsJob {
        try GitHubActionsJob {
            ["ACTIONS_ID_TOKEN_REQUEST_URL": url, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token"][$0]
        }
    }
}
