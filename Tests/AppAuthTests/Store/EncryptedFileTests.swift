import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EncryptedFileTests {
    private static func key(_ id: String, _ byte: UInt8 = 1) throws -> SessionEncryptionKey {
        try SessionEncryptionKey(id: id, bytes: Array(repeating: byte, count: 32))
    }

    private let folder: StoreFolder
    private let path: String

    init() throws {
        folder = try StoreFolder()
        path = folder.path
    }

    private func store(_ keys: SessionEncryptionKey...) -> FileTokenStore {
        FileTokenStore(path: path, encryptionKeys: keys)
    }

    private func content() throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test func `the file shows nothing of the session, and each write has a nonce of its own`() async throws {
        let record = try StoreFolder.record(token: "the-refresh-token")
        let store = store(try Self.key("2026"))
        var seen: Set<String> = []
        for _ in 0..<3 {
            try await store.replace(with: record)
            #expect(try await store.load() == record)
            seen.insert(try content())
            #expect(try !content().contains("the-refresh-token") && content().contains("2026"))
            _ = try await store.update { $0 = nil }
        }
        #expect(seen.count == 3)
    }

    @Test func `new tokens are written to the reserved room, and recovered if the process died`() async throws {
        let key = try Self.key("2026")
        let store = store(key)
        let record = try StoreFolder.record(token: "before")
        var json = try #require(JSON(parsing: record.encoded()).object)
        json["refreshToken"] = .string("after")
        let rotated = try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "test")
        try await store.replace(with: record)
        _ = try await store.prepareForRefresh(TokenStoreCall())
        try await store.update { $0 = rotated }
        #expect(try await store.load() == rotated)
        // A process has died before the rename.
        let other = FileTokenStore(path: path + ".new", encryptionKeys: [key])
        try await store.replace(with: record)
        _ = try await store.prepareForRefresh(TokenStoreCall())
        try await other.discard()
        try await other.replace(with: rotated)
        #expect(try await store.update { $0 }?.refreshToken == Secret("after"))
    }

    @Test func `after a rotation, the old file is read, and the next write uses the new key`() async throws {
        let (old, new) = (try Self.key("old"), try Self.key("new", 2))
        try await store(old).replace(with: StoreFolder.record(token: "a"))
        #expect(try await store(new, old).load()?.refreshToken?.reveal() == "a")
        try await store(new, old).replace(with: StoreFolder.record(token: "b"))
        #expect(try await store(new).load()?.refreshToken?.reveal() == "b")
    }

    @Test
    func `a file of another key, or of none, is rejected and stays, and discard() sets it aside if it is encrypted`()
        async throws
    {
        let (mine, other) = (try Self.key("mine"), try Self.key("other", 2))
        let record = try StoreFolder.record()
        for (writer, reader) in [(store(mine), store(other)), (store(mine), store()), (store(), store(mine))] {
            try await writer.replace(with: record)
            let before = try content()
            let problem: StoreProblem = before.contains("encryptedSession") ? .encryption : .notEncrypted
            for attempt in [
                { _ = try await reader.load() }, { try await reader.prepare() },
                { _ = try await reader.update { $0 = nil } },
            ] {
                let error = await authError { try await attempt() }
                #expect(error?.storeProblem == problem, "\(String(describing: error))")
            }
            #expect(try content() == before)
            #expect(try await writer.load() == record)
            guard problem == .encryption else {
                let error = await authError { try await reader.discard() }
                #expect(try error?.storeProblem == .notEncrypted && content() == before)
                continue
            }
            let aside = try #require(try await reader.discard())
            #expect(try String(contentsOfFile: aside, encoding: .utf8) == before)
            #expect(try await writer.load() == nil)
        }
    }

    /// Each file is wrong in only one respect.
    @Test(arguments: ["another name of the key", "a changed byte", "a missing byte", "no name", "half of the file"])
    func `a changed file is damaged, and can be set aside`(flaw: String) async throws {
        let keys = [try Self.key("a"), try Self.key("b")]
        let store = FileTokenStore(path: path, encryptionKeys: keys)
        try await store.replace(with: StoreFolder.record())
        var text = try content()
        let begin = try #require(text.range(of: ":\"")?.upperBound)
        switch flaw {
        case "another name of the key": text = text.replacing("\"key\":\"a\"", with: "\"key\":\"b\"")
        case "a changed byte":
            let place = text.index(begin, offsetBy: 40)
            text.replaceSubrange(place...place, with: text[place] == "A" ? "B" : "A")
        case "a missing byte": text.removeSubrange(begin..<text.index(begin, offsetBy: 4))
        case "no name": text = text.replacing("\"key\":", with: "\"kex\":")
        default: text = String(text.prefix(text.count / 2))
        }
        #expect(try text != content())
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        let error = await authError { _ = try await store.load() }
        #expect(error?.storeProblem == .damaged, "\(String(describing: error))")
        #expect(try await store.discard() != nil)
        #expect(try await store.load() == nil)
    }

    /// A nonce has 12 bytes, and a tag 16.
    @Test(arguments: [0, 1, 11, 12, 16, 27, 28])
    func `an encrypted session that is too short for a nonce and a tag is damaged`(count: Int) async throws {
        let text = Base64URL.encode([UInt8](repeating: 7, count: count))
        try "{\"encryptedSession\":\"\(text)\",\"key\":\"a\"}".write(toFile: path, atomically: false, encoding: .utf8)
        chmod(path, 0o600)
        let error = await authError { _ = try await store(try Self.key("a")).load() }
        #expect(error?.storeProblem == .damaged, "\(String(describing: error))")
    }

    @Test func `a passphrase encrypts, another one is rejected, and the salt is kept`() async throws {
        let record = try StoreFolder.record()
        let first = store(try SessionEncryptionKey(passphrase: Secret("correct horse")))
        try await first.replace(with: record)
        #expect(try await store(try SessionEncryptionKey(passphrase: Secret("correct horse"))).load() == record)
        let wrong = store(try SessionEncryptionKey(passphrase: Secret("battery staple")))
        let error = await authError { _ = try await wrong.load() }
        #expect(error?.storeProblem == .encryption)
        #expect(error?.message.contains("battery") == false)
        // A session that is written after it was read keeps the salt, so that other processes derive no other key.
        let name = { try #require(try content().split(separator: "\"key\":").last) }
        let before = try name()
        let second = store(try SessionEncryptionKey(passphrase: Secret("correct horse")))
        _ = try await second.load()
        try await second.replace(with: StoreFolder.record(token: "later"))
        #expect(try name() == before)
    }

    @Test func `two files with one passphrase have different salts`() async throws {
        var names: Set<Substring> = []
        for number in 0..<2 {
            let other = "\(path)-\(number)"
            let store = FileTokenStore(
                path: other, encryptionKeys: [try SessionEncryptionKey(passphrase: Secret("correct horse"))])
            try await store.replace(with: StoreFolder.record())
            let text = try String(contentsOfFile: other, encoding: .utf8)
            names.insert(try #require(text.split(separator: "\"key\":").last))
        }
        #expect(names.count == 2)
    }

    @Test(arguments: [("", 32), ("a", 31), ("a", 33), ("a", 0), ("scrypt:a", 32)])
    func `a key needs 32 bytes and a name of its own`(id: String, count: Int) async {
        let error = await authError { _ = try SessionEncryptionKey(id: id, bytes: Array(repeating: 1, count: count)) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a systemd credential has 32 bytes, and its name is that of the key`() async throws {
        let credentials = URL(filePath: path).deletingLastPathComponent()
        try Data(repeating: 7, count: 32).write(to: credentials.appending(path: "session-key"))
        try Data(repeating: 7, count: 33).write(to: credentials.appending(path: "long"))
        let key = try SessionEncryptionKey(systemdCredential: "session-key", in: credentials.path)
        try await store(key).replace(with: StoreFolder.record())
        #expect(try content().contains("\"key\":\"session-key\""))
        #expect(try await store(try Self.key("session-key", 7)).load() != nil)
        for (name, folder) in [
            ("long", credentials.path), ("missing", credentials.path), ("session-key", nil),
            ("../\(credentials.lastPathComponent)/session-key", credentials.path),
        ] {
            let error = await authError { _ = try SessionEncryptionKey(systemdCredential: name, in: folder) }
            #expect(error?.code == .invalidConfiguration, "\(name)")
        }
    }

    @Test func `a passphrase is not empty`() async {
        #expect(await authError { _ = try SessionEncryptionKey(passphrase: Secret("")) }?.code == .invalidConfiguration)
    }
}
