import AppAuth
import AppAuthConcurrency
import AppAuthPostgreSQL
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import Testing
import TestFixtures

@testable import AppAuthSession

@Suite(.serialized, .timeLimit(.minutes(5)))
struct LockEnduranceTests {
    /// Runs a test with a session named `first`.
    private func withStore(
        lockTimeout: Duration = .seconds(60), isAlone: Bool = false, on machines: [Machine] = [],
        _ test: (Server, PostgreSQLTokenStore) async throws -> Void
    ) async throws {
        try await Server.run(isAlone: isAlone, on: machines) { server in
            let store = try server.database { $0.lockTimeout = lockTimeout }.store(for: "one")
            try await store.database.createTable()
            try await store.put(.sample("first"))
            try await test(server, store)
        }
    }

    private func under(_ lock: RefreshLock) -> TokenStoreCall { TokenStoreCall(grant: lock.grant) }

    private static let bump = "UPDATE appauth_session SET lock_number = lock_number + 1"

    @Test func `each grant of the lock has a larger number`() async throws {
        try await withStore { server, store in
            var numbers: [Int] = []
            for _ in 0..<3 {
                try await store.refreshLock().release()
                numbers.append(try #require(Int(try server.sql("SELECT lock_number FROM appauth_session"))))
            }
            #expect(numbers == Array(Set(numbers)).sorted() && numbers.count == 3)
            // Even if the row is lost, since an old holder may still be about to write.
            try server.sql("DELETE FROM appauth_session")
            try await store.refreshLock().release()
            #expect(try #require(Int(try server.sql("SELECT lock_number FROM appauth_session"))) > numbers[2])
        }
    }

    @Test func `a change under a lock that has another holder since is made anew, under the lock`() async throws {
        try await withStore { server, store in
            let lock = try await store.refreshLock()
            // Another holder has got the lock between the read and the write of the first attempt.
            let attempts = LockedValue(0)
            try await store.update(under(lock)) { record in
                let isFirst = attempts.withLock { count in
                    count += 1
                    return count == 1
                }
                if isFirst { try server.sql(Self.bump) }
                record = try .sample("attempt \(isFirst ? 1 : 2)")
            }
            #expect(attempts.withLock { $0 } == 2)
            #expect(try await store.name == "attempt 2")
            lock.release()
        }
    }

    /// Another role has locked a catalog that the server reads again for the next statement.
    @Test func `a holder whose report the server answers with an error keeps the lock`() async throws {
        try await withStore(lockTimeout: .seconds(4), isAlone: true) { server, store in
            let lock = try await store.refreshLock()
            let console = try server.console()
            // So many changes that the holder's connection forgets what it has read.
            for _ in 0..<2 {
                console.write(
                    "DO $$ BEGIN FOR i IN 1..300 LOOP EXECUTE 'CREATE TABLE t' || i || ' ()'; EXECUTE 'DROP TABLE t' || i; "
                        + "END LOOP; END $$;")
            }
            // For three reports.
            console.write("BEGIN; LOCK TABLE pg_catalog.pg_class; SELECT pg_sleep(3.2); ROLLBACK; SELECT 'over';")
            _ = try await console.line { $0 == "over" }
            #expect(lock.isHeld)
            try await store.update(under(lock)) { $0 = try .sample("later") }
            #expect(try await store.name == "later")
            lock.release()
        }
    }

    @Test func `a change without a lock does not depend on it`() async throws {
        try await withStore { server, store in
            let lock = try await store.refreshLock()
            try server.sql(Self.bump)
            let attempts = LockedValue(0)
            try await store.update { record in
                attempts.withLock { $0 += 1 }
                record = nil
            }
            #expect(attempts.withLock { $0 } == 1)
            #expect(try await store.load() == nil)
            lock.release()
        }
    }

    @Test func `if another holder has the lock that was lost, a change under it fails after the time for a call`()
        async throws
    {
        try await Server.run { server in
            let store = try server.database { $0 = .quick }.store(for: "one")
            try await store.database.createTable()
            let lock = try await store.refreshLock()
            // The server ends the connection of the lock, and another process gets it.
            let other = try server.database().store(for: "one")
            try server.endLockConnections()
            try await waitUntil { !lock.isHeld }
            let next = try Program.session(["hold", server.connection(), "one", "60"])
            _ = try await next.line { $0 == "held" }
            let error = try #require(await authError { try await store.update(under(lock)) { $0 = try .sample() } })
            #expect(error.storeProblem == .busy && error.isTemporary, "\(error)")
            #expect(try await other.load() == nil)
            next.kill(SIGKILL)
            try await store.update(under(lock)) { $0 = try .sample("mine") }
            #expect(lock.isHeld)
            #expect(try await other.name == "mine")
            lock.release()
        }
    }

    @Test func `the lock of a process that is killed is free at once`() async throws {
        try await withStore { server, store in
            let holder = try Program.session(["hold", server.connection(), "one", "60"])
            _ = try await holder.line { $0 == "held" }
            let name = await store.refreshLockHolder()
            #expect(name?.hasPrefix("'postgresql-prog[\(holder.id)]@") ?? false, "\(name ?? "nil")")
            let waiting = Task { try await store.refreshLock() }
            let start = ContinuousClock.now
            holder.kill(SIGKILL)
            try await waiting.value.release()
            #expect(ContinuousClock.now - start < .seconds(20))
            try await waitUntil { await store.refreshLockHolder() == nil }
        }
    }

    /// As after SIGCONT: the connection is still open as far as this process knows, but the server may have ended it.
    @Test(arguments: [(59, true), (60, false), (3600, false)])
    func `after the time of the lock without a report, the holder no longer relies on it`(
        seconds: Int, isHeld: Bool
    ) async throws {
        try await withStore { server, _ in
            let clock = LockedValue(ContinuousClock.now)
            let store = try server.database { $0.now = { clock.withLock { $0 } } }.store(for: "one")
            let lock = try await store.refreshLock()
            #expect(lock.isHeld)
            clock.withLock { $0 += .seconds(seconds) }
            #expect(lock.isHeld == isHeld)
            try await store.update(under(lock)) { $0 = try .sample("kept") }
            // It has acquired the lock again, with another number.
            #expect(lock.isHeld)
            lock.release()
        }
    }

    @Test func `a holder that is stopped loses the lock, and does not overwrite newer tokens`() async throws {
        try await withStore { server, store in
            let holder = try Program.session(["hold", server.connection(), "one", "1"])
            try await expectLoss(
                of: holder, in: store, while: { holder.kill(SIGSTOP) }, until: { holder.kill(SIGCONT) })
        }
    }

    @Test(.enabled(if: Network.isPossible, Network.reason))
    func `a holder whose network fails loses the lock, and does not overwrite newer tokens`() async throws {
        let network = try await Network()
        let machine = try await network.machine(1)
        try await withStore(isAlone: true, on: [try await network.machine(2)]) { server, store in
            let holder = try machine.session(["hold", server.connection(), "one", "1"])
            try await expectLoss(of: holder, in: store, while: machine.disconnect, until: machine.connect)
        }
    }

    /// The whole course: the lock passes on, its next holder stores newer tokens, and the first one wakes up.
    private func expectLoss(
        of holder: Program, in store: PostgreSQLTokenStore, while begin: () throws -> Void, until end: () throws -> Void
    ) async throws {
        _ = try await holder.line { $0 == "held" }
        try begin()
        let lock = try await store.refreshLock()
        try await store.update(under(lock)) { $0 = try .sample("newer") }
        lock.release()
        try end()
        holder.write("go")
        #expect(try await holder.end().split(separator: "\n") == ["held", "found newer"])
        #expect(try await store.name == "late")
    }

    @Test func `a holder that reports keeps the lock for longer than the timeout`() async throws {
        try await withStore(lockTimeout: .milliseconds(400)) { server, store in
            let lock = try await store.refreshLock()
            // It reports four times in the period.
            var reports: Set<String> = []
            try await waitUntil {
                reports.insert(
                    try server.sql(
                        "SELECT query_start FROM pg_stat_activity WHERE query = 'SELECT 1' AND datname = current_database()"
                    ))
                return reports.count > 9
            }
            #expect(lock.isHeld)
            #expect(try server.locks(isGranted: true) == 1)
            lock.release()
            #expect(!lock.isHeld)
        }
    }

    @Test func `callers that wait use one connection, and one that leaves frees it`() async throws {
        try await withStore { server, store in
            let holder = try Program.session(["hold", server.connection(), "one", "60"])
            _ = try await holder.line { $0 == "held" }
            let waiters = (0..<100).map { _ in Task { try await store.refreshLock() } }
            try await waitUntil { try server.locks(isGranted: false) == 1 }
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { id in
                FileManager.default.contents(atPath: "/proc/self/task/\(id)/comm") == Data("appauth-pq\n".utf8)
            }
            #expect((1...2).contains(threads))
            for waiter in waiters { waiter.cancel() }
            for waiter in waiters { await #expect(throws: CancellationError.self) { try await waiter.value } }
            try await waitUntil { try server.locks(isGranted: false) == 0 }
        }
    }

    @Test func `if its connection ends, a wait goes on, even one that is longer than the time for a call`() async throws
    {
        try await Server.run { server in
            let store = try server.database { $0 = .quick }.store(for: "one")
            try await store.database.createTable()
            let holder = try Program.session(["hold", server.connection(), "one", "60"])
            _ = try await holder.line { $0 == "held" }
            let start = ContinuousClock.now
            let waiting = Task { try await store.refreshLock() }
            try await waitUntil {
                try ContinuousClock.now > start + .seconds(3) && server.locks(isGranted: false) == 1
            }
            try server.endLockConnections(isGranted: false)
            try await waitUntil { try server.locks(isGranted: false) == 1 }
            holder.kill(SIGKILL)
            try await waiting.value.release()
        }
    }

    @Test func `after a crash of the server, waiting goes on, and calls reach it again`() async throws {
        try await withStore(isAlone: true) { server, store in
            let holder = try Program.session(["hold", server.connection(), "one", "60"])
            _ = try await holder.line { $0 == "held" }
            let waiting = Task { try await store.refreshLock() }
            try await waitUntil { try server.locks(isGranted: false) == 1 }
            try await server.crash()
            let change = Task { try await store.put(.sample("after")) }
            try await server.start()
            try await change.value
            #expect(try await store.name == "after")
            // The lock was lost with the server. The first that asks has it.
            try await waiting.value.release()
            holder.write("go")
            _ = try await holder.end()
            #expect(try await store.name == "late")
        }
    }

    @Test func `reports come for changes by others and for a sign-out, and after a lost connection`() async throws {
        try await withStore(isAlone: true) { server, store in
            var reports = store.changes.makeAsyncIterator()
            var others = try server.database().store(for: "other").changes.makeAsyncIterator()
            // Once the server sends reports.
            await reports.next()
            await others.next()
            let writer = try server.database().store(for: "one")
            try await writer.put(.sample("second"))
            await reports.next()
            try await writer.put(nil)
            await reports.next()
            #expect(try await store.load() == nil)
            try await server.crash()
            try await server.start()
            await reports.next()
            await others.next()
            // One for another row: only its stream gets it.
            try await server.database().store(for: "other").put(.sample())
            await others.next()
        }
    }
}
