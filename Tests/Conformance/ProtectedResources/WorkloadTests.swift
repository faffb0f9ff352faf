import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// The scenario wif-jwt-bearer: a workload presents a token of its platform.
@Suite(.timeLimit(.minutes(5)))
struct WorkloadTests {
    /// What is the matter with the assertion, or with the request.
    enum Situation: String, CaseIterable, Sendable {
        case valid, forAnother, expired, refusedScope

        /// The error of the command.
        var code: String? { self == .valid ? nil : self == .refusedScope ? "invalid_scope" : "invalid_grant" }
        /// The number of requests that a client sends.
        var requests: Int { self == .expired ? 0 : 1 }
    }

    private struct Workload {
        let provider: LocalProvider
        let assertion: String
        let situation: Situation
        static let issuer = "https://platform.example"
        static let client = SmallClient.Credentials(id: "workload")

        static func run(_ situation: Situation, _ body: (Workload) async throws -> Void) async throws {
            let key = try SigningKey.generate(.es256)
            var configuration = LocalProvider.Configuration.demo
            configuration.clients = [RegisteredClient(id: client.id, grantTypes: [GrantType.jwtBearer.rawValue])]
            configuration.assertionIssuers = [TrustedIssuer(issuer, keys: [key.publicKey])]
            try await withLocalProvider(configuration) { provider in
                if situation == .refusedScope { provider.fault(.oauthError("invalid_scope"), at: .token, times: nil) }
                let end = Int(Date().timeIntervalSince1970) + (situation == .expired ? -60 : 120)
                let claims: JSON = [
                    "iss": .string(issuer), "sub": .string(User.alice.subject),
                    "aud": .string(situation == .forAnother ? "https://wrong.example" : provider.issuer),
                    "exp": .number(.init(end)),
                ]
                let assertion = try JWS.sign(claims, with: key)
                try await body(Workload(provider: provider, assertion: assertion, situation: situation))
            }
        }

        /// The identifiers of the checks that have failed.
        var failed: Set<String> {
            let requests = provider.log(.token)
            let grants = requests.map { $0.form["grant_type"] }
            let checks = [
                "wif-grant-type": grants.first ?? GrantType.jwtBearer.rawValue == GrantType.jwtBearer.rawValue,
                "wif-assertion-verified": situation != .valid || requests.first?.status == 200,
                "wif-assertion-expired": situation != .expired || requests.isEmpty,
                "wif-no-retry": requests.count <= 1 || grants[1] != grants[0],
                "wif-grant-fallback": requests.count <= 1 || grants[1] == grants[0],
            ]
            return Set(checks.filter { !$0.value }.keys)
        }
    }

    @Test(arguments: Situation.allCases)
    func `the command presents the assertion once, and never an expired one`(situation: Situation) async throws {
        try await Workload.run(situation) { workload in
            let user = try CommandUser()
            let outcome = try await user.run([
                "client-credentials", "--json", "--issuer", workload.provider.issuer, "--client-id",
                Workload.client.id, "--jwt-bearer-file", user.file("token", workload.assertion + "\n"), "--scope",
                "api",
                "--resource", workload.provider.url(.api),
            ])
            #expect(outcome.code == situation.code, "\(outcome)")
            #expect(!outcome.errors.contains(workload.assertion))
            #expect(workload.failed == [] && workload.provider.count(.token) == situation.requests)
        }
    }

    @Test(arguments: Situation.allCases)
    func `an app with the library presents the assertion once, and never an expired one`(
        situation: Situation
    ) async throws {
        try await Workload.run(situation) { workload in
            let grant = try TokenGrant.jwtBearer(
                assertion: Secret(workload.assertion), scope: ["api"], resources: [workload.provider.url(.api)])
            do {
                _ = try await LibraryUser.present(grant, as: Workload.client.id, .none, at: workload.provider.issuer)
                #expect(situation.code == nil)
            } catch let error as AuthError {
                #expect(error.code.rawValue == situation.code && !"\(error)".contains(workload.assertion))
            }
            #expect(workload.failed == [] && workload.provider.count(.token) == situation.requests)
        }
    }

    @Test(arguments: [
        (Flaw?.none, Situation.valid, []), (nil, .forAnother, []), (nil, .expired, []), (nil, .refusedScope, []),
        (.sendsAssertionAsCredential, .valid, ["wif-grant-type", "wif-assertion-verified"]),
        (.sendsExpiredAssertion, .expired, ["wif-assertion-expired"]),
        (.repeatsRefusedAssertion, .forAnother, ["wif-no-retry"]),
        (.fallsBackToOtherGrant, .refusedScope, ["wif-grant-fallback"]),
    ])
    func `of small clients, the right one passes and the wrong ones fail`(
        flaw: Flaw?, situation: Situation, failed: [String]
    ) async throws {
        try await Workload.run(situation) { workload in
            try? await SmallClient(flaw, as: Workload.client).getToken(
                for: workload.provider.url(.api), at: workload.provider, by: workload.assertion,
                isExpired: situation == .expired)
            let found = workload.failed
            #expect(found == Set(failed))
        }
    }
}
