import AppAuthConcurrency
import AppAuthProtocol
import Foundation
import TestFixtures
import Testing

@testable import AppAuth

/// The folder of a store's file.
struct FolderTests {
    @Test func `missing folders are created for their owner only, and each of them is synchronized`() throws {
        let root = try StoreFolder()
        let synchronised = LockedValue(0)
        let folder = Folder(of: root.root + "/a/b/session.json", location: "here") { descriptor in
            synchronised.withLock { $0 += 1 }
            return fsync(descriptor)
        }
        try folder.make()
        for path in ["/a", "/a/b"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: root.root + path)
            #expect(attributes[.posixPermissions] as? Int == 0o700)
        }
        // The parent of each has a new entry. Others have none.
        #expect(synchronised.withLock { $0 } == 2)
        try folder.make()
        #expect(synchronised.withLock { $0 } == 2)
    }

    @Test func `a folder that cannot be created is an error`() async {
        // No process can create a folder in /proc.
        let error = await authError { try Folder(of: "/proc/appauth/session.json", location: "here").make() }
        #expect(error?.message.hasPrefix("here has no folder, and it cannot be created: ") == true)
    }

    @Test func `on a file system without unnamed files, only the access rights are checked`() async {
        let error = await authError { try Folder(of: "/proc/session.json", location: "here").probe(bytes: 1) }
        #expect((error == nil) == (access("/proc", W_OK | X_OK) == 0), "\(String(describing: error))")
    }

    @Test func `a folder that cannot be opened does not count as synchronized`() async {
        let folder = Folder(of: "/nowhere/session.json", location: "here") { _ in 0 }
        let error = await authError { try folder.synchronise() }
        #expect(error?.message == "here cannot be synchronised: No such file or directory")
    }
}
