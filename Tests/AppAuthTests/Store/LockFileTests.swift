import AppAuthProtocol
import AppAuthSession
import Glibc
import JOSE
import TestFixtures
import Testing

@testable import AppAuth

/// Callers that wait for a lock of another process, and the traces of cancelled ones.
@Suite(.timeLimit(.minutes(1)))
struct LockFileTests {
    @Test func `a caller that is cancelled before the wait begins leaves nothing open`() async throws {
        let folder = try StoreFolder()
        try await folder.withForeignLock {
            for _ in 0..<20 {
                let waiter = Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return try await folder.store.refreshLock()
                }
                await #expect(throws: CancellationError.self) { _ = try await waiter.value }
            }
            #expect(folder.openLocks == 1)
        }
        #expect(folder.openLocks == 0)
    }

    @Test func `callers that leave while another process has the lock keep at most one file open`() async throws {
        let folder = try StoreFolder()
        try await folder.withForeignLock {
            for count in 1...20 {
                let waiter = Task { try await folder.store.refreshLock() }
                // The first has a thread that waits for the kernel, and keeps all others from asking.
                try await waitUntil { count == 1 ? folder.isWaitedFor : folder.store.lockWaitingCount == 1 }
                waiter.cancel()
                await #expect(throws: CancellationError.self) { _ = try await waiter.value }
            }
            #expect(folder.openLocks == 2)
        }
        // The remaining file serves the next lock.
        try await folder.store.refreshLock().release()
        #expect(folder.openLocks == 0)
    }

    @Test func `a lock that is released, or forgotten, is closed`() async throws {
        let folder = try StoreFolder()
        let lock = try await folder.store.refreshLock()
        #expect(folder.openLocks == 1)
        lock.release()
        #expect(folder.openLocks == 0)
        _ = try await folder.store.refreshLock()
        #expect(folder.openLocks == 0)
        try await folder.store.update { $0 = nil }
        #expect(folder.openLocks == 0)
    }

    @Test func `a released lock does not close a file that was opened later`() async throws {
        let folder = try StoreFolder()
        for _ in 0..<100 {
            var lock: RefreshLock? = try await folder.store.refreshLock()
            let number = try #require(folder.lockDescriptors.first)
            lock?.release()
            // Another test may get the number of the closed file first.
            let later = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, number)
            defer { close(later) }
            lock = nil
            #expect(fcntl(later, F_GETFD) >= 0)
            if later == number { return }
        }
        Issue.record("expected the number of the closed file, found others")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make another user’s file"))
    func `a lock file of another user is refused, and left alone`() async throws {
        let folder = try StoreFolder()
        try await folder.store.refreshLock().release()
        #expect(chown(folder.lockPath, 65534, 65534) == 0)
        for error in await [
            authError { try await folder.store.refreshLock() }, authError { try await folder.store.update { _ in } },
        ] {
            #expect(error?.storeProblem == .damaged && error?.message.contains(folder.lockPath) == true)
        }
        #expect(chown(folder.lockPath, 0, 0) == 0)
        try await folder.store.refreshLock().release()
    }

    @Test(arguments: [true, false])
    func `if a session is expected, a missing lock is made only beside it`(isThere: Bool) async throws {
        let folder = try StoreFolder()
        try await folder.store.replace(with: try StoreFolder.record())
        for path in [folder.lockPath] + (isThere ? [] : [folder.path]) { #expect(unlink(path) == 0) }
        let error = await authError {
            try await folder.store.update(TokenStoreCall(expectsSession: true)) { _ in }
        }
        #expect(error?.storeProblem == (isThere ? nil : .unavailable))
    }

    @Test func `a refresh in progress can be seen without a lock`() async throws {
        let folder = try StoreFolder()
        #expect(!folder.store.isBeingRefreshed)
        #expect(folder.openLocks == 0)
        let lock = try await folder.store.refreshLock()
        #expect(folder.store.isBeingRefreshed)
        lock.release()
        #expect(!folder.store.isBeingRefreshed)
        // The lock of the session itself is another.
        let isSeen = try await folder.store.update { [store = folder.store] _ in store.isBeingRefreshed }
        #expect(!isSeen)
        try await folder.withForeignLock { #expect(folder.store.isBeingRefreshed) }
        #expect(!folder.store.isBeingRefreshed)
    }
}
