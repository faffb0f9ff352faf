import AppAuth
import Foundation
import Testing

/// The owner of the desktop's files is trusted like this user, so another user must not have been able to make them.
@Suite struct DesktopOwnerTests {
    @Test func `the owner of a file counts, unless others could have put it there`() throws {
        let shared = FileManager.default.temporaryDirectory.appending(path: "xauth-\(UUID().uuidString)")
        try Data().write(to: shared)
        defer { try? FileManager.default.removeItem(at: shared) }
        #expect(DesktopSession.owner(ofDesktop: "/etc/passwd") == 0)
        #expect(DesktopSession.owner(ofDesktop: "/etc") == 0)
        #expect(DesktopSession.owner(ofDesktop: shared.path) == nil)
        #expect(DesktopSession.owner(ofDesktop: "/nonexistent") == nil)
        #expect(DesktopSession.owner(ofDesktop: nil) == nil)
    }

    // Below a folder that no other user can change: root's, outside of /tmp.
    @Test(
        .enabled(if: geteuid() == 0, "only root can make a folder outside of the home folder and /tmp"),
        arguments: [
            (0o755, 0, true), (0o775, 0, false), (0o757, 0, false), (0o700, 0, true), (0o755, 65534, false),
        ] as [(mode_t, uid_t, Bool)])
    func `no other user can change a folder above it`(mode: mode_t, folderOwner: uid_t, isTrusted: Bool) throws {
        let above = "/var/lib/appauth-test-\(UUID().uuidString)"
        let below = above + "/below"
        try FileManager.default.createDirectory(
            atPath: below, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: above) }
        let path = below + "/xauth"
        try Data().write(to: URL(filePath: path))
        #expect(chmod(below, 0o755) == 0 && chmod(above, mode) == 0 && chown(above, folderOwner, 0) == 0)
        #expect(DesktopSession.owner(ofDesktop: path) == (isTrusted ? 0 : nil))
        // The owner of the file may own the folders too.
        #expect(chown(path, folderOwner, 0) == 0)
        #expect(DesktopSession.owner(ofDesktop: path) == (mode & 0o022 == 0 ? folderOwner : nil))
    }
}
