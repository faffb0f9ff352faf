import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import TestFixtures
import Testing

/// A write that a file store confirms can be read again, and survives a power cut.
@Suite(.timeLimit(.minutes(1)))
struct SessionFileTests {
    @Test func `a session of many megabytes is read as it was written`() async throws {
        let folder = try StoreFolder()
        let record = try StoreFolder.record(token: String(repeating: "r", count: 3 << 20))
        try await folder.store.replace(with: record)
        #expect(try await folder.store.load() == record)
    }

    @Test func `a session that is too large to be read again is not written, and the old one stays`() async throws {
        let folder = try StoreFolder()
        let (small, large) = (
            try StoreFolder.record(), try StoreFolder.record(token: String(repeating: "r", count: 10))
        )
        var store = folder.store
        store.largestRecord = try small.encoded().count
        try await store.replace(with: small)
        let error = await authError { [store] in try await store.replace(with: large) }
        #expect(error?.message.contains("can hold only \(store.largestRecord)") == true, "\(String(describing: error))")
        #expect(error?.isTemporary == false)
        #expect(try await store.load() == small)
        #expect(try folder.names == ["session.json"])
        store.largestRecord = try large.encoded().count
        try await store.replace(with: large)
        #expect(try await store.load() == large)
    }

    @Test func `a file that others could read becomes private again`() async throws {
        let folder = try StoreFolder()
        try await folder.store.replace(with: try StoreFolder.record())
        for (mode, expected) in [(0o644, 0o600), (0o600, 0o600), (0o400, 0o400)] {
            chmod(folder.path, mode_t(mode))
            _ = try await folder.store.load()
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
            #expect(attributes[.posixPermissions] as? Int == expected)
        }
    }

    @Test func `a folder in place of the new file is named, and the session stays`() async throws {
        let folder = try StoreFolder()
        let (old, new) = (try StoreFolder.record(), try StoreFolder.record(token: "after"))
        try await folder.store.replace(with: old)
        let inside = URL(filePath: folder.path + ".new/inside")
        try FileManager.default.createDirectory(at: inside, withIntermediateDirectories: true)
        let error = await authError { try await folder.store.replace(with: new) }
        #expect(error?.message.contains("\(folder.path).new cannot be removed: Is a directory") == true)
        #expect(try await folder.store.load() == old)
        try FileManager.default.removeItem(atPath: folder.path + ".new")
        try await folder.store.replace(with: new)
        #expect(try await folder.store.load() == new)
    }

    @Test func `removing a session that is not there is no error`() async throws {
        let folder = try StoreFolder()
        try await folder.store.update { $0 = nil }
        try await folder.store.replace(with: try StoreFolder.record())
        for _ in 0..<2 { try await folder.store.update { $0 = nil } }
        #expect(try await folder.store.load() == nil)
    }

    @Test(arguments: [true, false])
    func `before a refresh token is sent, room for the next is reserved, and used or given back`(
        isRemoval: Bool
    ) async throws {
        let folder = try StoreFolder()
        let new = folder.path + ".new"
        let before = try StoreFolder.record(token: "before")
        try await folder.store.replace(with: before)
        _ = try await folder.store.prepareForRefresh(TokenStoreCall())
        let room = try Data(contentsOf: URL(fileURLWithPath: new))
        // While it is open, no other file gets its number.
        let (inode, descriptor) = (try self.inode(of: new), open(new, O_RDONLY | O_CLOEXEC))
        let record = try #require(try await folder.store.load())
        #expect(record == before)
        #expect(try room.count > record.encoded().count && room.allSatisfy { $0 == 0 })

        // A call that only reads leaves it.
        _ = try await folder.store.update { $0?.id }
        #expect(FileManager.default.contents(atPath: new) == room)
        #expect(try await folder.store.load() == record)

        try await folder.store.update { stored in
            stored = isRemoval ? nil : try StoreFolder.record(token: "after")
        }
        #expect(try folder.names == (isRemoval ? [] : ["session.json"]))
        if !isRemoval { #expect(try self.inode(of: folder.path) == inode) }
        close(descriptor)
        #expect(folder.openFiles.isEmpty)
    }

    private func inode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
    }

    @Test func `a new session and its lock are for their owner only`() async throws {
        let folder = try StoreFolder()
        try await folder.store.replace(with: try StoreFolder.record())
        for path in [folder.path, folder.lockPath] {
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `no file stays open`() async throws {
        let folder = try StoreFolder()
        for name in ["first", "second"] { try await folder.store.replace(with: try StoreFolder.record(name)) }
        _ = try await folder.store.load()
        try await folder.store.update { $0 = nil }
        #expect(folder.openFiles.isEmpty)
    }

    @Test func `a session that cannot be synchronised is not confirmed, and the old one stays`() async throws {
        let folder = try StoreFolder()
        let (old, new) = (try StoreFolder.record(), try StoreFolder.record("new"))
        try await folder.store.replace(with: old)
        let broken = folder.brokenStore
        #expect(await authError { try await broken.replace(with: new) }?.code == .store)
        #expect(try await folder.store.load() == old)
        #expect(try folder.names == ["session.json"])
    }

    @Test(arguments: [true, false])
    func `a change whose folder was not synchronised is confirmed once it has been`(isRemoval: Bool) async throws {
        let folder = try StoreFolder()
        let old = try StoreFolder.record()
        try await folder.store.replace(with: old)
        let disk = Disk()
        var store = folder.store
        store.synchroniseFolder = { disk.synchronise($0) }
        let (copy, new) = (store, isRemoval ? nil : try StoreFolder.record("new"))
        @Sendable func change() async throws { try await copy.update { $0 = new } }

        try await change()
        #expect(disk.synchronised == 1)
        try await change()
        #expect(disk.synchronised == 1, "nothing was written, and there was nothing to make up for")

        try await copy.update { $0 = old }
        disk.isBroken = true
        for _ in 0..<2 { #expect(await authError(change)?.code == .store) }
        #expect(try await copy.load() == new, "the change is there to see")
        disk.isBroken = false
        let before = disk.synchronised
        try await change()
        #expect(disk.synchronised == before + 1)
        try await change()
        #expect(disk.synchronised == before + 1)
    }
}

/// A disk that can fail to synchronise a folder.
private final class Disk: Sendable {
    private let state = LockedValue((isBroken: false, synchronised: 0))

    var synchronised: Int { state.withLock { $0.synchronised } }
    var isBroken: Bool {
        get { state.withLock { $0.isBroken } }
        set { state.withLock { $0.isBroken = newValue } }
    }

    func synchronise(_ folder: Int32) -> Int32 {
        state.withLock { state in
            guard !state.isBroken else {
                errno = EIO
                return -1
            }
            state.synchronised += 1
            return fsync(folder)
        }
    }
}
