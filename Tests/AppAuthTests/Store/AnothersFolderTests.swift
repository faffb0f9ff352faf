import AppAuthProtocol
import AppAuthSession
import Foundation
import TestFixtures
import Testing

@testable import AppAuth

/// Root in the folder of another user, as with `sudo` and that user's home folder.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can make another user’s folder"))
struct AnothersFolderTests {
    private static let nobody: uid_t = 65534

    /// Runs the test with a folder that belongs to another user, or to root.
    private func withFolder(of user: uid_t, _ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "anothers-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(chown(path, user, user) == 0)
        try await body(path)
    }

    private func names(in folder: String) -> [String]? {
        try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    private func change(_ store: FileTokenStore) async throws {
        let record = try StoreFolder.record()
        try await store.update { $0 = record }
    }

    @Test(arguments: ["session.json", "missing/folder/session.json"])
    func `nothing is created there, and the error says to do without sudo`(name: String) async throws {
        try await withFolder(of: Self.nobody) { folder in
            let store = FileTokenStore(path: "\(folder)/\(name)")
            for attempt in [
                { try await store.prepare() }, { try await self.change(store) }, { _ = try await store.refreshLock() },
                { _ = try await store.discard() },
            ] {
                let error = await authError { try await attempt() }
                #expect(error?.code == .store && error?.storeProblem == nil, "\(String(describing: error))")
                let message = error?.message ?? ""
                #expect(message.contains("is in a folder of another user, \(folder): run this"), "\(message)")
                #expect(message.contains("without sudo"), "\(message)")
            }
            let loaded = try await store.load()
            #expect(loaded == nil)
            #expect(names(in: folder) == [])
        }
        try await withFolder(of: 0) { folder in try await change(FileTokenStore(path: "\(folder)/\(name)")) }
    }

    /// How another user leads root to a folder of root.
    enum Way: CaseIterable { case folderAbove, link, linkAbove, linkOfRoot }

    @Test(arguments: Way.allCases, [true, false])
    func `nor in a folder of root to which that user leads`(way: Way, isAnothers: Bool) async throws {
        let owner = isAnothers ? Self.nobody : 0
        try await withFolder(of: 0) { folder in
            try await withFolder(of: 0) { target in
                let own = folder + "/own"
                let path: String
                switch way {
                case .folderAbove, .linkOfRoot:
                    path = way == .folderAbove ? own + "/of-root" : target + "/link"
                    if way == .linkOfRoot {
                        try FileManager.default.createDirectory(
                            atPath: own + "/of-root", withIntermediateDirectories: true)
                        try FileManager.default.createSymbolicLink(
                            atPath: path, withDestinationPath: own + "/of-root")
                    }
                    if way == .folderAbove {
                        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                    }
                case .link, .linkAbove:
                    try FileManager.default.createSymbolicLink(atPath: own, withDestinationPath: target)
                    path = way == .link ? own : own + "/of-root"
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                }
                #expect(lchown(own, owner, owner) == 0)
                let error = await authError { try await change(FileTokenStore(path: path + "/session.json")) }
                #expect((error?.message.contains("is in a folder of another user, \(own): ") == true) == isAnothers)
                #expect(names(in: path)?.contains("session.json") == !isAnothers)
            }
        }
    }

    /// In a folder of root, the file of another user is set aside. In the user's own folder, it is healthy.
    @Test func `the session of that user is not called damaged, and is not set aside`() async throws {
        try await withFolder(of: 0) { folder in
            let store = FileTokenStore(path: "\(folder)/session.json")
            try await change(store)
            for file in [store.path, store.path + ".lock"] { #expect(chown(file, Self.nobody, Self.nobody) == 0) }
            let inRoots = await authError { _ = try await store.load() }
            #expect(inRoots?.storeProblem == .damaged)
            #expect(chown(folder, Self.nobody, Self.nobody) == 0)
            for attempt in [{ _ = try await store.load() }, { _ = try await store.discard() }] {
                let error = await authError { try await attempt() }
                let message = error?.message ?? ""
                #expect(error?.storeProblem == nil && message.contains("without sudo"), "\(message)")
                #expect(!message.contains("discard()"), "\(message)")
            }
            #expect(
                names(in: folder) == [
                    "session.json", "session.json.lock",
                ])
        }
    }

    /// An earlier command with sudo has made it.
    @Test func `in the home folder, the user is told how to take back what is root’s`() async {
        await #expect(processExitsWith: .success) {
            let home = FileManager.default.temporaryDirectory.appending(path: "home-\(UUID().uuidString)").path
            let folder = home + "/state"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: home) }
            try #require(chown(home, 65534, 65534) == 0 && chmod(folder, 0o700) == 0)
            try #require(seteuid(65534) == 0)
            let messages = [home, "/elsewhere"].map { home in
                setenv("HOME", home, 1)
                return AuthError.unopened(folder + "/a", "file:a", "cannot be read", errno: EACCES).message
            }
            try #require(seteuid(0) == 0)
            let line = "perhaps since a command with sudo. To take it back: sudo chown -R 65534 \(folder)"
            try #require(messages[0].hasSuffix(". \(folder) belongs to root, \(line)"))
            try #require(messages[1].contains("\(folder) belongs to another user: run this as that user"))
        }
    }

    @Test func `the lock of a keyring's session is not created there`() async throws {
        try await withFolder(of: Self.nobody) { folder in
            let place = Folder(of: "\(folder)/a.lock", location: "keyring:a")
            let lock = LockFile(path: "\(folder)/a.lock", location: "keyring:a", folder: place)
            let error = await authError { _ = try await lock.refreshLock() }
            let message = error?.message ?? ""
            #expect(message.contains("without sudo"), "\(message)")
            #expect(names(in: folder) == [])
        }
    }

    @Test func `no desktop entry is written there`() async throws {
        try await withFolder(of: Self.nobody) { folder in
            let error = await authError { try DesktopFile(path: "\(folder)/applications/a.desktop").write("x") }
            let message = error?.message ?? ""
            #expect(error?.code == .unavailable && message.contains("without sudo"), "\(message)")
            #expect(names(in: folder) == [])
        }
    }
}
