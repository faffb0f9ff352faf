import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import CShims
import Foundation
import Testing

/// A folder of a test's own, with the file of a session in it.
final class StoreFolder: Sendable {
    let root: String

    init() throws {
        var template = Array("/tmp/appauth-store-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        root = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    var path: String { root + "/session.json" }
    var lockPath: String { path + ".lock" }
    var store: FileTokenStore { FileTokenStore(path: path) }

    /// A store on a disk that cannot synchronise files.
    var brokenStore: FileTokenStore {
        var store = store
        store.synchroniseFile = { _ in
            errno = EIO
            return -1
        }
        return store
    }

    /// A store that counts how often its folder is synchronised.
    func store(counting synchronised: LockedValue<Int>) -> FileTokenStore {
        var store = store
        store.synchroniseFolder = { descriptor in
            synchronised.withLock { $0 += 1 }
            return fsync(descriptor)
        }
        return store
    }

    /// The files in the folder, except for the lock file, which stays.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: root).filter { !$0.hasSuffix(".lock") } }
    }

    /// How often this process has the lock's file open.
    var openLocks: Int { lockDescriptors.count }

    /// The descriptors by which it has.
    var lockDescriptors: [Int32] {
        let folder = "/proc/self/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return descriptors.filter {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == lockPath
        }.compactMap(Int32.init)
    }

    /// The files of the folder that this process has open.
    var openFiles: [String] {
        let folder = "/proc/self/fd"
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
            .filter { $0.hasPrefix(root) }
    }

    /// Whether a process waits for a kernel lock of the file.
    var isWaitedFor: Bool {
        var status = stat()
        guard stat(lockPath, &status) == 0, let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
        else {
            return false
        }
        return locks.split(separator: "\n").contains { $0.contains(" -> ") && $0.contains(":\(status.st_ino) ") }
    }

    /// Holds the refresh lock as another process would, that is, unknown to this process's stores.
    func withForeignLock<Result>(_ body: () async throws -> Result) async throws -> Result {
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        // A program that another test starts at this moment has a copy of the descriptor until it runs, and with it the lock.
        defer {
            _ = shims_unlock_byte(descriptor, 1)
            close(descriptor)
        }
        try #require(shims_try_lock_byte(descriptor, 1) == 0)
        return try await body()
    }

    static func record(_ name: String = "client", token: String = "refresh") throws -> AuthStateRecord {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        return try AuthStateRecord(
            client: Client(id: name, provider: provider), accessToken: nil, refreshToken: Secret(token))
    }
}
