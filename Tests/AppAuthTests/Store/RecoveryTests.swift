import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import TestFixtures
import Testing

/// A process that dies before the rename leaves a file `NAME.new`. If it has new tokens of this session, the store recovers
/// them, and otherwise ignores it.
@Suite(.timeLimit(.minutes(1)))
struct RecoveryTests {
    enum Remains: CaseIterable {
        /// New tokens of this session.
        case rotated
        case anotherSession, ended, sameToken
    }

    /// A session whose refresh token was sent, and the remaining file beside it.
    private func prepare(_ remains: Remains, _ folder: StoreFolder) async throws -> AuthStateRecord {
        let record = try StoreFolder.record(token: "before")
        try await folder.store.replace(with: record)
        var json = try #require(JSON(parsing: record.encoded()).object)
        if remains != .sameToken { json["refreshToken"] = .string("after") }
        if remains == .anotherSession { json["id"] = "another" }
        if remains == .ended { json["refreshToken"] = nil }
        if remains == .ended { json["end"] = ["reason": "signed out", "date": 1_700_000_000] }
        try Data(JSON.object(json).serialized().utf8).write(to: URL(filePath: folder.path + ".new"))
        return try #require(try await folder.store.load())
    }

    @Test(arguments: [Remains.rotated, .anotherSession, .ended, .sameToken])
    func `only new tokens of the same session takes its place`(remains: Remains) async throws {
        let folder = try StoreFolder()
        let record = try await prepare(remains, folder)
        let found = try await folder.store.update { $0 }
        if remains == .rotated {
            #expect(found?.refreshToken == Secret("after"))
            #expect(try await folder.store.load() == found)
        } else {
            #expect(found == record)
            #expect(try await folder.store.load() == record)
        }
        #expect(try folder.names == ["session.json"])
    }

    @Test func `new tokens in its place survive a power cut`() async throws {
        let (folder, synchronised) = (try StoreFolder(), LockedValue(0))
        _ = try await prepare(.rotated, folder)
        let found = try await folder.store(counting: synchronised).update { $0 }
        #expect(found?.refreshToken == Secret("after") && synchronised.withLock { $0 } == 1)
    }

    @Test func `new tokens take its place only when they are synchronised`() async throws {
        let folder = try StoreFolder()
        let record = try await prepare(.rotated, folder)
        let broken = folder.brokenStore
        #expect(await authError { _ = try await broken.update { $0 } }?.code == .store)
        #expect(try await folder.store.load() == record)
        #expect(try await folder.store.update { $0 }?.refreshToken == Secret("after"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make another user’s file"))
    func `room that belongs to another user is not written to`() async throws {
        let folder = try StoreFolder()
        try await folder.store.replace(with: try StoreFolder.record(token: "before"))
        _ = try await folder.store.prepareForRefresh(TokenStoreCall())
        #expect(chown(folder.path + ".new", 65534, 65534) == 0)
        try await folder.store.update { $0 = try StoreFolder.record(token: "after") }
        let owner = try FileManager.default.attributesOfItem(atPath: folder.path)[.ownerAccountID] as? Int
        #expect(owner == 0)
    }

    @Test func `room that was open to other users is closed before tokens are written to it`() async throws {
        let folder = try StoreFolder()
        try await folder.store.replace(with: try StoreFolder.record(token: "before"))
        _ = try await folder.store.prepareForRefresh(TokenStoreCall())
        #expect(chmod(folder.path + ".new", 0o644) == 0)
        try await folder.store.update { $0 = try StoreFolder.record(token: "after") }
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }
}
