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
}
