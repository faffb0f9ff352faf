import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import Foundation
import TestFixtures
import Testing

/// A damaged store, and what sets it aside.
@Suite(.timeLimit(.minutes(1)))
struct DiscardTests {
    private func write(_ text: String, _ path: String) throws { try Data(text.utf8).write(to: URL(filePath: path)) }

    @Test func `each damaged file gets a new name, with the time`() async throws {
        let folder = try StoreFolder()
        var names: [String] = []
        for text in ["my diary", "my poems"] {
            try write(text, folder.path)
            let name = try #require(try await folder.store.discard())
            #expect(FileManager.default.contents(atPath: name) == Data(text.utf8))
            names.append(name)
        }
        #expect(names[0].wholeMatch(of: /.*\/session\.json\.damaged-\d{8}T\d{6}Z/) != nil, "\(names)")
        #expect(Set(try folder.names.map { "\(folder.root)/\($0)" }) == Set(names) && names[0] != names[1])
        #expect(try await folder.store.discard() == nil)
    }

    @Test(arguments: [true, false])
    func `what lies beside a damaged file is set aside too, unless it is only room for new tokens`(
        isRoom: Bool
    ) async throws {
        let folder = try StoreFolder()
        try write("my diary", folder.path)
        try write(isRoom ? "\0\0\0\0" : "tokens", folder.path + ".new")
        _ = try await folder.store.discard()
        #expect(try folder.names.count { $0.contains(".new.damaged-") } == (isRoom ? 0 : 1))
        #expect(try folder.names.count == (isRoom ? 1 : 2))
        #expect(folder.openFiles.isEmpty)
    }

    @Test func `what was set aside stays so after a power cut`() async throws {
        let (folder, synchronised) = (try StoreFolder(), LockedValue(0))
        try write("my diary", folder.path)
        _ = try await folder.store(counting: synchronised).discard()
        #expect(synchronised.withLock { $0 } == 1)
    }

    @Test func `a readable session is not set aside`() async throws {
        let folder = try StoreFolder()
        let record = try StoreFolder.record()
        try await folder.store.replace(with: record)
        #expect(try await folder.store.discard() == nil)
        #expect(try await folder.store.load() == record)
    }

    @Test func `a lock that is a symbolic link is set aside, and its target stays`() async throws {
        let folder = try StoreFolder()
        try write("my diary", folder.path)
        try write("target", folder.root + "/target")
        try FileManager.default.createSymbolicLink(
            atPath: folder.lockPath, withDestinationPath: folder.root + "/target")
        _ = try await folder.store.discard()
        #expect(try folder.names.count { $0.contains(".lock.damaged-") } == 1)
        #expect(FileManager.default.contents(atPath: folder.root + "/target") == Data("target".utf8))
    }

    @Test func `an error says once how to set the store aside, and only if it is damaged`() async throws {
        let folder = try StoreFolder()
        let hint = ": discard() sets it aside"
        try write("my diary", folder.path)
        let damaged = await authError { _ = try await folder.store.load() }
        #expect(damaged?.message.hasSuffix(hint) == true)
        try FileManager.default.removeItem(atPath: folder.path)
        try FileManager.default.createDirectory(atPath: folder.lockPath, withIntermediateDirectories: false)
        for error in await [
            authError { try await folder.store.update { _ in } }, authError { try await folder.store.refreshLock() },
        ] {
            #expect(error?.message.components(separatedBy: hint).count == 2, "\(String(describing: error))")
        }
        // The path goes through a file, so nothing can be opened there.
        try write("", folder.root + "/file")
        let unreadable = await authError { _ = try await FileTokenStore(path: folder.root + "/file/session").load() }
        #expect(unreadable?.code == .store && unreadable?.message.contains("discard") == false)
    }
}
