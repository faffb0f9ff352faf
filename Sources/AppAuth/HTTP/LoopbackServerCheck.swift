internal import CShims

/// The check of a server on loopback, before a request is sent to it.
///
/// If a local provider or API has ended, another user of the machine can listen on its port, and would receive what is
/// meant for it. The kernel reports whose program has the other end of a connection (sock_diag(7)).
package struct LoopbackServerCheck: Sendable {
    private let trustedUsers: Set<UInt32>
    /// Whether the kernel tells all users apart here.
    private let knowsEveryUser: Bool

    /// - Parameter desktop: The users of this process, of its login session and of its desktop are trusted.
    package init(in desktop: DesktopSession) {
        trustedUsers = desktop.trustedUsers.union([desktop.user])
        knowsEveryUser = desktop.hasEveryUser
    }

    /// Returns whether a server of a user may receive requests.
    ///
    /// Services of the system run as users below 1000, or above 61183: systemd's dynamic users, and `nobody`. In a user
    /// namespace, the latter stands for all users whose number is unknown there.
    package func accepts(_ user: UInt32) -> Bool {
        trustedUsers.contains(user) || user < 1000 || (61184..<Self.nobody).contains(user)
            || user == Self.nobody && knowsEveryUser
    }

    private static let nobody: UInt32 = 65534

    /// Returns the user that a server belongs to if that user is not trusted, and nil if the user is trusted or the kernel
    /// does not report it.
    func foreignOwner(
        of server: UnsafePointer<CChar>, _ serverPort: Int32, from own: UnsafePointer<CChar>, _ ownPort: Int32
    ) -> UInt32? {
        var user: UInt32 = 0
        guard shims_server_user(server, serverPort, own, ownPort, &user) == 0 else { return nil }
        return accepts(user) ? nil : user
    }
}
