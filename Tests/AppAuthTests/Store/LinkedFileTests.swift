import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import TestFixtures
import Testing

/// A session whose path is a symbolic link, as programs for configuration files make them.
@Suite(.timeLimit(.minutes(1)))
struct LinkedFileTests {
    private let folder: StoreFolder
    private let link: String

    init() throws {
        folder = try StoreFolder()
        link = folder.root + "/link"
    }

    private func linkTo(_ target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    }

    private var target: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: link) }

    @Test(arguments: [false, true])
    func `a session is written through a link, which stays`(isRelative: Bool) async throws {
        try await folder.store.replace(with: try StoreFolder.record(token: "before"))
        try linkTo(isRelative ? "session.json" : folder.path)
        let store = FileTokenStore(path: link)
        let new = try StoreFolder.record(token: "after")
        try await store.replace(with: new)
        for store in [store, folder.store] { #expect(try await store.load() == new) }
        #expect(target == (isRelative ? "session.json" : folder.path))
        #expect(try folder.names.sorted() == ["link", "session.json"])
        // Both names have one lock.
        #expect(!FileManager.default.fileExists(atPath: link + ".lock"))
        let lock = try await folder.store.refreshLock()
        #expect(await store.refreshLockHolder() != nil)
        lock.release()
    }

    @Test func `after a sign-out through a link, the next session is where it leads`() async throws {
        try await folder.store.replace(with: try StoreFolder.record())
        try linkTo(folder.path)
        let store = FileTokenStore(path: link)
        try await store.update { $0 = nil }
        #expect(try folder.names == ["link"])
        #expect(try await store.load() == nil)
        let new = try StoreFolder.record(token: "after")
        try await store.replace(with: new)
        #expect(try await folder.store.load() == new && target == folder.path)
    }

    enum Flaw: Equatable {
        case mode(mode_t)
        case modeOfFolder(mode_t)
        case nothing, folder, loop, anotherUsers, folderOfAnotherUser

        static let all: [Flaw] =
            [.mode(0o640), .mode(0o620), .mode(0o604), .mode(0o602), .modeOfFolder(0o720), .modeOfFolder(0o702)]
            + [.nothing, .folder, .loop] + (geteuid() == 0 ? [.anotherUsers, .folderOfAnotherUser] : [])
    }

    @Test(arguments: Flaw.all)
    func `a link that may not be followed is refused, and stays`(flaw: Flaw) async throws {
        let place = folder.root + "/place"
        let path = place + "/session.json"
        let old = try StoreFolder.record()
        try await FileTokenStore(path: path).replace(with: old)
        switch flaw {
        case .mode(let mode): chmod(path, mode)
        case .modeOfFolder(let mode): chmod(place, mode)
        case .nothing: for file in [path, path + ".lock"] { unlink(file) }
        case .folder, .loop: break
        case .anotherUsers: chown(path, 65534, 65534)
        case .folderOfAnotherUser: chown(place, 65534, 65534)
        }
        let goal = flaw == .folder ? place : flaw == .loop ? link : path
        try linkTo(goal)
        let store = FileTokenStore(path: link)
        let before = FileManager.default.contents(atPath: path)
        for error in await [
            authError { _ = try await store.load() }, authError { try await store.prepare() },
            authError { try await store.replace(with: old) },
        ] {
            #expect(error?.storeProblem == .damaged, "\(String(describing: error))")
            #expect(error?.message.contains("is a symbolic link") == true, "\(String(describing: error))")
        }
        let words =
            switch flaw {
            case .mode, .anotherUsers: "a file of this user with the mode 600"
            case .modeOfFolder, .folderOfAnotherUser: "a folder there that only this user can change"
            case .nothing, .folder, .loop: ""
            }
        let message = await authError { try await store.prepare() }?.message
        #expect(words.isEmpty || message?.contains("expected \(words)") == true)
        #expect(target == goal && FileManager.default.contents(atPath: path) == before)
        let aside = try #require(try await store.discard())
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: aside) == goal)
        #expect(FileManager.default.contents(atPath: path) == before)
        try await store.replace(with: old)
        #expect(try await store.load() == old)
    }
}
