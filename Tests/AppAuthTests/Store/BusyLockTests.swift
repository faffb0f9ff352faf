import AppAuth
import AppAuthProtocol
import AppAuthSession
import CShims
import Foundation
import TestFixtures
import Testing

/// A lock that another process keeps: each wait for it ends, and names that process.
@Suite(.timeLimit(.minutes(1)))
struct BusyLockTests {
    @Test func `a change that another process blocks fails with the name of that process, and works afterwards`()
        async throws
    {
        let folder = try StoreFolder()
        let old = try StoreFolder.record("old")
        try await folder.store.replace(with: old)
        let holder = try ForeignLock(of: folder.lockPath, byte: 0)
        var store = folder.store
        store.lockTimeout = .milliseconds(50)
        let new = try StoreFolder.record("new")
        let refused = await authError { [store] in try await store.replace(with: new) }
        let error = try #require(refused)
        #expect(error.code == .store && error.storeProblem == .busy && error.isTemporary)
        #expect(error.message.contains("process \(holder.id) (perl)") && error.message.contains(folder.lockPath))
        #expect(try await store.load() == old, "the session can be read meanwhile")
        try holder.release()
        try await folder.store.replace(with: new)
        #expect(try await store.load() == new)
    }

    @Test func `a change that is cancelled while it waits for a lock ends at once and is never made`() async throws {
        let folder = try StoreFolder()
        let (old, new) = (try StoreFolder.record("old"), try StoreFolder.record("new"))
        try await folder.store.replace(with: old)
        let holder = try ForeignLock(of: folder.lockPath, byte: 0)
        var store = folder.store
        store.lockTimeout = .seconds(3600)
        let change = Task { [store] in try await store.replace(with: new) }
        try await waitUntil { folder.openLocks != 0 }
        change.cancel()
        await #expect(throws: CancellationError.self) { try await change.value }
        // Its thread goes too.
        try await waitUntil { folder.openLocks == 0 }
        try holder.release()
        try await folder.store.update { _ in }
        #expect(try await store.load() == old)
    }

    @Test func `the holder of the refresh lock is named by its process, and only while it holds the lock`()
        async throws
    {
        let folder = try StoreFolder()
        #expect(await folder.store.refreshLockHolder() == nil)
        let lock = try await folder.store.refreshLock()
        let name = await folder.store.refreshLockHolder()
        #expect(name?.hasPrefix("process \(getpid()) (") == true)
        let isSeen = try await folder.store.update { [store = folder.store] _ in store.isBeingRefreshed }
        #expect(isSeen)
        lock.release()
        #expect(await folder.store.refreshLockHolder() == nil)
        // The kernel does not name the holder of this lock, and it has not written its name.
        try await folder.withForeignLock { #expect(await folder.store.refreshLockHolder() == "another process") }
        // One that has died has left its name.
        try Data("                               \n1 1                            \n".utf8)
            .write(to: URL(filePath: folder.lockPath))
        try await folder.withForeignLock { #expect(await folder.store.refreshLockHolder() == "another process") }
    }

    @Test func `a caller that gives up leaves the name of the holder`() async throws {
        let folder = try StoreFolder()
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        let end = DispatchSemaphore(value: 0)
        let holder = Task {
            try await folder.store.update { _ in
                change.yield()
                end.wait()
            }
        }
        for await _ in changes { break }
        var store = folder.store
        store.lockTimeout = .zero
        for _ in 0..<2 {
            let error = await authError { [store] in try await store.update { _ in } }
            #expect(error?.message.contains("process \(getpid()) (") == true, "\(String(describing: error))")
        }
        end.signal()
        try await holder.value
    }

    @Test func `a released lock is free even if a child process still has its file open`() async throws {
        let folder = try StoreFolder()
        let lock = try await folder.store.refreshLock()
        // As after fork(2): the same open file description.
        let copy = dup(try #require(folder.lockDescriptors.first))
        defer { close(copy) }
        lock.release()
        #expect(!folder.store.isBeingRefreshed)
        try await folder.store.refreshLock().release()
    }

    @Test(arguments: ["my notes\n", String(repeating: "1", count: 65)])
    func `an existing file with the name of the lock keeps its contents`(contents: String) async throws {
        let folder = try StoreFolder()
        try Data(contents.utf8).write(to: URL(filePath: folder.lockPath))
        let lock = try await folder.store.refreshLock()
        #expect(await folder.store.refreshLockHolder() == "another process")
        lock.release()
        #expect(FileManager.default.contents(atPath: folder.lockPath) == Data(contents.utf8))
    }
}
