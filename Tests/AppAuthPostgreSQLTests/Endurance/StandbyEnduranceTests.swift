import AppAuth
import AppAuthConcurrency
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Testing
import TestFixtures

/// A standby becomes the primary, and what the article Several machines says about that.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct StandbyEnduranceTests {
    /// Runs a test with a primary, its standby, and a store that knows both. The standby is the first host, which is
    /// passed over until it is the primary.
    private func run(
        isSynchronous: Bool, _ test: (_ primary: Server, _ standby: Server, PostgreSQLTokenStore) async throws -> Void
    ) async throws {
        try await Server.run(isAlone: true) { primary in
            try await primary.database().createTable()
            try await primary.withStandby(isSynchronous: isSynchronous) { standby in
                let hosts = "127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)"
                let text = primary.connection().replacing("127.0.0.1:\(primary.port)", with: hosts)
                try await test(primary, standby, PostgreSQLDatabase(text).store(for: "one"))
            }
        }
    }

    private static func lockNumber(_ server: Server) throws -> Int {
        try #require(Int(try server.sql("SELECT lock_number FROM appauth_session")))
    }

    @Test func `with a synchronous standby, no confirmed change is lost, and the lock is acquired there`() async throws
    {
        try await run(isSynchronous: true) { primary, standby, store in
            let lock = try await store.refreshLock()
            let call = TokenStoreCall(grant: lock.grant)
            try await store.update(call) { $0 = try .sample("confirmed") }
            let old = try Self.lockNumber(primary)
            try await primary.crash()
            let found = LockedValue("nothing")
            let change = Task {
                try await store.update(call) { record in
                    found.withLock { $0 = record?.client.id ?? "none" }
                    record = try .sample("after")
                }
            }
            try standby.sql("SELECT pg_promote()")
            try await change.value
            #expect(found.withLock { $0 } == "confirmed")
            #expect(try await store.name == "after")
            #expect(try standby.locks(isGranted: true) == 1)
            #expect(try Self.lockNumber(standby) > old)
            lock.release()
        }
    }

    /// Without a grace period: the refresh token is sent once. The asynchronous standby lacks only the number of the lock.
    @Test(arguments: [true, false])
    func `a refresh that is in progress stores its tokens at the new primary`(isSynchronous: Bool) async throws {
        try await run(isSynchronous: isSynchronous) { primary, standby, store in
            try await withLocalProvider(.demo) { provider in
                let session = try await provider.signIn(store: store)
                let row = "SELECT version, record, lock_number FROM appauth_session"
                try await waitUntil { try standby.sql(row) == primary.sql(row) }
                if !isSynchronous { try standby.stopFollowing(primary) }
                let sent = provider.count(.token)
                let hold = provider.hold(.token)
                let refresh = Task { try await session.freshAccessToken(forceRefresh: true) }
                try await hold.arrived()
                // A synchronous standby has the change on disk, and shows it a little later.
                if isSynchronous { try await waitUntil { try standby.sql(row) == primary.sql(row) } }
                #expect(try (standby.sql(row) == primary.sql(row)) == isSynchronous)
                let old = try Self.lockNumber(primary)
                try await primary.crash()
                try standby.sql("SELECT pg_promote()")
                hold.release()
                let token = try await refresh.value
                #expect(try await store.load()?.accessToken?.value == token.value)
                #expect(provider.count(.token) == sent + 1)
                #expect(try Self.lockNumber(standby) > old)
                _ = try await session.freshAccessToken(forceRefresh: true)
                #expect(provider.count(.token) == sent + 2)
            }
        }
    }

    /// The standby lacks the latest refresh. Other processes have only what it has, as does the process that has refreshed.
    @Test(arguments: [0, 3600], [true, false])
    func `with an asynchronous standby, a used refresh token is sent, and the provider's grace period decides`(
        gracePeriod: Int, isOther: Bool
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = gracePeriod
        try await run(isSynchronous: false) { primary, standby, store in
            try await withLocalProvider(configuration) { provider in
                let first = try await provider.signIn(store: store)
                let row = "SELECT version, record FROM appauth_session"
                try await waitUntil { try standby.sql(row) == primary.sql(row) }
                try standby.stopFollowing(primary)
                let lost = try await first.freshAccessToken(forceRefresh: true)
                #expect(try standby.sql(row) != primary.sql(row))
                let (old, sent) = (try Self.lockNumber(primary), provider.count(.token))
                try await primary.crash()
                try standby.sql("SELECT pg_promote()")
                // What is valid in memory is used as before.
                #expect(try await first.freshAccessToken().value == lost.value)
                // Otherwise, the process would use the older access token of the standby first.
                try await store.update { $0 = try $0?.expired() }
                let session =
                    isOther ? try #require(await AuthState(restoring: store, environment: .live)) : first
                if gracePeriod > 0 {
                    let token = try await session.freshAccessToken(forceRefresh: true)
                    #expect(token.value != lost.value)
                    #expect(try await store.load()?.accessToken?.value == token.value)
                } else {
                    let error = await authError { try await session.freshAccessToken(forceRefresh: true) }
                    #expect(error?.code == .signInRequired, "\(String(describing: error))")
                    #expect(try await store.load()?.end != nil)
                }
                #expect(provider.count(.token) == sent + 1)
                #expect(try Self.lockNumber(standby) > old)
                if gracePeriod > 0 {
                    _ = try await session.freshAccessToken(forceRefresh: true)
                } else {
                    // A new sign-in is all that it takes.
                    _ = try await provider.signIn(store: store).freshAccessToken(forceRefresh: true)
                }
            }
        }
    }
}
