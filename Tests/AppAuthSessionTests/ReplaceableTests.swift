import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import JOSE
import ScriptedBrowser
import TestFixtures
import Testing

/// Which session a new one may replace in the store.
struct ReplaceableTests {
    private func record(
        client: String = "app", for resources: [String] = [], at issuer: String = "https://op.example"
    ) throws -> AuthStateRecord {
        let provider = try ProviderMetadata(issuer: Issuer(issuer), endpoints: [.token: issuer + "/token"])
        var record = try AuthStateRecord(
            client: Client(id: client, provider: provider), accessToken: nil, refreshToken: Secret("rt"))
        record.resources = resources
        return record
    }

    private func isReplaced(
        _ stored: AuthStateRecord?, by new: AuthStateRecord, _ replaceable: Replaceable
    ) async throws -> Bool {
        let store = MemoryTokenStore(stored)
        do {
            try await store.replace(with: new, if: replaceable)
        } catch let error as AuthError where error.code == .sessionReplaced {
            let left = try await store.load()
            #expect(left?.id == stored?.id)
            return false
        }
        return true
    }

    @Test func `the session that was there may be replaced, whatever it is`() async throws {
        let former = try record(client: "other", for: ["a"], at: "https://other.example")
        let replaceable = await Replaceable(in: MemoryTokenStore(former))
        #expect(try await isReplaced(former, by: record(), replaceable))
        #expect(try await isReplaced(nil, by: record(), replaceable))
    }

    @Test func `one that has come in the meantime only by the same`() async throws {
        let replaceable = await Replaceable(in: MemoryTokenStore())
        #expect(try await isReplaced(record(), by: record(), replaceable))
        for other in try [
            record(client: "other"), record(for: ["a"]), record(at: "https://other.example"),
        ] { #expect(try await !isReplaced(other, by: record(), replaceable)) }
    }

    @Test func `nor by a session that comes from another user of the same identity provider`() async throws {
        let replaceable = await Replaceable(in: MemoryTokenStore())
        func session(of user: String) throws -> AuthStateRecord {
            var json = try JSON(parsing: record().encoded()).object ?? JSON.Object()
            json["grant"] = [
                "type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "scope": [], "resources": [], "parameters": [:],
                "assertionName": "idp", "assertionUser": ["issuer": "https://idp.example", "subject": .string(user)],
            ]
            return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "test")
        }
        #expect(try await isReplaced(session(of: "alice"), by: session(of: "alice"), replaceable))
        #expect(try await !isReplaced(session(of: "alice"), by: session(of: "bob"), replaceable))
    }

    /// How an app begins a session without `SignIn`.
    enum Way: CaseIterable, Sendable {
        case grant, grantAfterDiscovery, code, device

        func begin(_ client: Client, in store: any TokenStore, _ world: World) async throws -> AuthState {
            var environment = world.environment
            environment.sleep = { _ in }
            switch self {
            case .grant:
                return try await AuthState.present(
                    .clientCredentials(), as: client, store: store, environment: environment)
            case .grantAfterDiscovery:
                var configuration = ClientConfiguration(client, environment: environment)
                configuration.provider = nil
                return try await AuthState.restoreOrPresent(.clientCredentials(), as: configuration, store: store)
            case .code:
                let response = try await world.authorize(client)
                return try await AuthState.exchange(response, store: store, environment: environment)
            case .device:
                let authorization = try await DeviceAuthorizationRequest(client: client).send(in: environment)
                _ = try await world.browser.visit(#require(authorization.verificationURIComplete?.string))
                return try await AuthState.awaitApproval(of: authorization, store: store, environment: environment)
            }
        }
    }

    @Test(arguments: Way.allCases)
    func `a session that comes while a server takes its time stays`(way: Way) async throws {
        try await World.run { world in
            let secret = ClientAuthentication.clientSecretBasic(Secret("service-secret-of-thirty-two-bytes"))
            let isGrant = way == .grant || way == .grantAfterDiscovery
            let client = try await isGrant ? world.client("demo-service", secret) : world.client()
            let store = TestStore()
            let hold = world.provider.hold(way == .grantAfterDiscovery ? .openIDConfiguration : .token)
            async let error = authError { _ = try await way.begin(client, in: store, world) }
            try await hold.arrived()
            let other = try record(client: "other")
            await store.put(other)
            hold.release()
            #expect(await error?.code == .sessionReplaced)
            #expect(await store.record == other)
            // Nobody has the new tokens.
            #expect(world.provider.count(.revocation) > 0)
        }
    }

    @Test func `a session that is continued must be there`() async throws {
        let former = try record(for: ["a"])
        let replaceable = Replaceable(continuing: former)
        #expect(try await isReplaced(former, by: record(for: ["a"]), replaceable))
        // Without ID tokens, this could be another user's.
        #expect(try await !isReplaced(record(for: ["a"]), by: record(for: ["a"]), replaceable))
        #expect(try await !isReplaced(nil, by: record(for: ["a"]), replaceable))
        #expect(try await !isReplaced(record(for: ["b"]), by: record(for: ["a"]), replaceable))
        try await World.run { world in
            var sessions: [AuthStateRecord] = []
            for _ in 0..<3 { sessions.append(await (try await world.signIn()).record) }
            let continuing = Replaceable(continuing: sessions[0])
            #expect(try await isReplaced(sessions[1], by: sessions[2], continuing))
            let withoutIDToken = await (try await world.signIn(scope: [.offlineAccess])).record
            #expect(withoutIDToken.idToken == nil)
            #expect(try await !isReplaced(sessions[1], by: withoutIDToken, continuing))
            #expect(try await !isReplaced(withoutIDToken, by: sessions[1], continuing))
        }
    }
}
