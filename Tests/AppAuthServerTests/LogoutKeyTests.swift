import AppAuthConcurrency
import AppAuthServer
import AppAuthProtocol
import Dispatch
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §10.1.1, for tokens other than ID tokens: the provider's keys change.
@Suite(.timeLimit(.minutes(5)))
struct LogoutKeyTests {
    /// A verifier whose provider publishes the test's keys, and a clock.
    private final class Bench: Sendable {
        let published = LockedValue<[JSON]>([])
        let fetches = LockedValue(0)
        let clock = LockedValue(Signer.now)
        /// Called for each read of the clock.
        let onRead = LockedValue<@Sendable () -> Void>({})

        func verifier() throws -> LogoutTokenVerifier {
            let provider = try ProviderMetadata(
                issuer: Issuer(Signer.issuer), endpoints: [.keys: Signer.issuer + "/jwks"],
                more: ["id_token_signing_alg_values_supported": ["ES256"]])
            let environment = Environment(
                transport: Keys(bench: self),
                now: { [self] in
                    onRead.withLock { $0 }()
                    return Timestamp(wall: clock.withLock { $0 })
                })
            return LogoutTokenVerifier(client: Client(id: "s6BhdRkqt3", provider: provider), environment: environment)
        }
    }

    private struct Keys: HTTPTransport {
        let bench: Bench

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            bench.fetches.withLock { $0 += 1 }
            let document: JSON = ["keys": .array(bench.published.withLock { $0 })]
            return TransportResponse(
                .init(status: .ok, headerFields: [.contentType: "application/json"]),
                body: Array(document.serialized().utf8))
        }
    }

    private func token(
        _ signer: Signer, _ name: String, for audience: JSON = "s6BhdRkqt3", at date: Date = Signer.now
    ) throws -> Secret {
        let now = Int(date.timeIntervalSince1970)
        let claims: JSON.Object = [
            "iss": .string(Signer.issuer), "aud": audience, "sub": "24400320", "iat": .number(.init(now)),
            "exp": .number(.init(now + 120)), "jti": .string(name),
            "events": ["http://schemas.openid.net/event/backchannel-logout": [:]],
        ]
        let header: JSON.Object = ["typ": "logout+jwt", "kid": .string(signer.kid ?? "")]
        return Secret(try JWS.sign(.object(claims), header: header, with: signer.key))
    }

    private func signers() throws -> (old: Signer, new: Signer) {
        var new = try Signer()
        new.kid = "key-2"
        return (try Signer(), new)
    }

    @Test func `a key that is not published yet is a temporary refusal, also for later tokens`() async throws {
        let (old, new) = try signers()
        let bench = Bench()
        bench.published.withLock { $0 = [old.jwk()] }
        let verifier = try bench.verifier()
        _ = try await verifier.verify(token(old, "1"))
        for name in ["2", "3"] {
            let error = try #require(await authError { try await verifier.verify(token(new, name)) })
            #expect(error.code == .invalidLogoutToken && error.isTemporary)
            #expect(error.message.contains("expected a matching key in the provider’s key set, found none"))
        }
        #expect(bench.fetches.withLock { $0 } == 2)
        bench.published.withLock { $0.append(new.jwk(kid: "key-2")) }
        bench.clock.withLock { $0 += 60 }
        _ = try await verifier.verify(token(new, "2", at: Signer.now + 60))
        #expect(bench.fetches.withLock { $0 } == 3)
    }

    /// Anyone can post a token: a made-up one must not cause requests to the provider.
    @Test func `keys are fetched only for a token whose issuer and audience are right`() async throws {
        let signer = try Signer()
        let bench = Bench()
        bench.published.withLock { $0 = [signer.jwk()] }
        let verifier = try bench.verifier()
        let error = await authError { try await verifier.verify(token(signer, "1", for: "another")) }
        #expect(error?.message.contains("expected 'aud' to contain") == true)
        #expect(bench.fetches.withLock { $0 } == 0)
        _ = try await verifier.verify(token(signer, "1"))
        #expect(bench.fetches.withLock { $0 } == 1)
    }

    @Test func `a forged signature is refused permanently, once the keys were fetched for it`() async throws {
        let (signer, forger) = (try Signer(), try Signer())
        let bench = Bench()
        bench.published.withLock { $0 = [signer.jwk()] }
        let verifier = try bench.verifier()
        let first = try #require(await authError { try await verifier.verify(token(forger, "1")) })
        #expect(!first.isTemporary && first.message.contains("by the provider’s key, found another"))
        // Within a minute they are not fetched again: it could be a key that is newer.
        let second = try #require(await authError { try await verifier.verify(token(forger, "2")) })
        #expect(second.isTemporary && bench.fetches.withLock { $0 } == 2)
    }

    /// One caller checks the old keys, and another one has them fetched again before the first one does.
    @Test func `keys that another caller has just fetched are used`() async throws {
        let (old, new) = try signers()
        let bench = Bench()
        bench.published.withLock { $0 = [old.jwk()] }
        let verifier = try bench.verifier()
        _ = try await verifier.verify(token(old, "1"))
        bench.published.withLock { $0.append(new.jwk(kid: "key-2")) }

        // A caller reads the clock for the cached keys, and again before it has them fetched: there it waits.
        let (arrivals, arrived) = AsyncStream<Void>.makeStream()
        let (reads, release) = (LockedValue(0), DispatchSemaphore(value: 0))
        bench.onRead.withLock {
            $0 = {
                guard Slow.isMe,
                    reads.withLock({ reads in
                        reads += 1; return reads == 2
                    })
                else { return }
                arrived.finish()
                release.wait()
            }
        }
        let slow = Task(executorPreference: OwnThread()) {
            try await Slow.$isMe.withValue(true) { try await verifier.verify(token(new, "2")) }
        }
        for await _ in arrivals {}
        _ = try await verifier.verify(token(new, "3"))
        release.signal()
        #expect(try await slow.value.tokenID == "2")
        #expect(bench.fetches.withLock { $0 } == 2)
    }
}

/// Whether this task is the delayed one.
private enum Slow {
    @TaskLocal static var isMe = false
}

/// Runs a task where it may wait without holding up others.
private final class OwnThread: TaskExecutor {
    private let queue = DispatchQueue(label: "a thread of its own")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
