import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import SoftwareTPM
import TestFixtures
import Testing

/// RFC 9449 with a key in a TPM, at a real server that checks every proof. Each test is a process of its own, since all of
/// a process has one environment.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct ProviderKeySessionTests {
    private static func withTPM(_ body: @Sendable (World, Client) async throws -> Void) async {
        await SoftwareTPM.use { _ in
            var configuration = LocalProvider.Configuration.demo
            configuration.clients[0].requiresDPoP = true
            try await World.run(configuration) { world in
                var client = try await world.bound()
                client.dpopKeyProvider = .tpm2
                try await body(world, client)
            }
        }
    }

    @Test func `the key stays in the TPM, and signs for each process that has the session`() async {
        await #expect(processExitsWith: .success) {
            await Self.withTPM { world, client in
                let store = MemoryTokenStore()
                let state = try await world.signIn(client, store: store)
                let bytes = try await state.record.encoded()
                let json = try JSON(parsing: bytes)
                try #require(json["version"]?.int == 2)
                try #require(json["proofKey"]?["pem"]?.string?.hasPrefix("-----BEGIN TSS2 PRIVATE KEY-----") == true)
                let read = try AuthStateRecord(decoding: bytes, from: "here")
                try #require(read.proofKey == state.proof?.key && read.client.dpopKeyProvider == .tpm2)
                let again = try #require(try await AuthState(restoring: store, environment: world.environment))
                _ = try await again.freshAccessToken(forceRefresh: true)
                try #require(try await again.userInfo().subject == "248289761001")
                try #require(try await state.userInfo().subject == "248289761001")
            }
        }
    }

    @Test func `many requests at once share the key`() async {
        await #expect(processExitsWith: .success) {
            await Self.withTPM { world, client in
                let state = try await world.signIn(client)
                let url = try SecureURL(world.provider.url(.api))
                try await withThrowingTaskGroup { group in
                    for _ in 0..<50 {
                        group.addTask {
                            let request = TransportRequest(HTTPRequest(method: .get, url: url))
                            try #require(try await state.send(request).status.code == 200)
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    @Test func `with the key of another TPM, nothing is sent, and the session does not end`() async {
        await #expect(processExitsWith: .success) {
            await Self.withTPM { world, client in
                let other = try SoftwareTPM()
                defer { other.stop() }
                let state = try await world.signIn(client)
                let own = await state.record
                var json = try #require(try JSON(parsing: own.encoded()).object)
                var key = try #require(json["proofKey"]?.object)
                key["pem"] = .string(
                    try other.run(
                        "sh", "-c", "openssl genpkey -provider tpm2 -algorithm EC -pkeyopt group:P-256 2>/dev/null"))
                json["proofKey"] = .object(key)
                let copy = try AuthStateRecord(
                    decoding: Array(JSON.object(json).serialized().utf8), from: "another machine")
                func restored() async throws -> AuthState {
                    let store = MemoryTokenStore(copy)
                    return try #require(try await AuthState(restoring: store, environment: world.environment))
                }
                let sent = world.provider.count(.token)
                for _ in 0..<1000 {
                    let elsewhere = try await restored()
                    let error = await authError { try await elsewhere.freshAccessToken(forceRefresh: true) }
                    try #require(
                        error?.code == .unavailable && error?.outcome == .notSent, "\(String(describing: error))")
                    try #require(error?.message.contains("another has made") == true)
                }
                let elsewhere = try await restored()
                let refused = await authError { try await elsewhere.userInfo() }
                try #require(refused?.outcome == .notSent)
                let left = await elsewhere.record
                try #require(left.end == nil)
                try #require(world.provider.count(.token) == sent && world.provider.count(.userInfo) == 0)
                _ = try await state.freshAccessToken(forceRefresh: true)
            }
        }
    }
}
