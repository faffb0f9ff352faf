internal import AppAuthProtocol
internal import CShims
internal import Glibc

extension LoopbackRedirectListener {
    /// Whether programs of other users on this machine may connect to a listener.
    ///
    /// Without the check, another user could open a one-time URL first, or send a redirect of their own. The kernel
    /// reports which user's program connects (sock_diag(7)). If the check is on, connections of other users are closed
    /// unread and have no effect. Allowed are the program's own user, root, and the user of the login session that the
    /// program runs in, also under `sudo` and `su`. Through `ssh -L`, a browser connects as the SSH user.
    public enum SameUserCheck: Sendable, Hashable {
        /// On wherever the check is possible and excludes no user who may sign in.
        ///
        /// It is off if the kernel does not report the user; under WSL, where the browser runs in Windows; and if the
        /// user of the login session is unknown, as in a system service, or in a container outside a login session.
        /// ``LoopbackRedirectListener/sameUserObstacle`` then gives the reason, if other users run programs here.
        case automatic
        /// On. If the kernel does not report the user, the listener cannot be created.
        case required
        /// Off, for a browser that runs as another user. If there are too many connections, those of other users are
        /// closed first.
        case off
    }
}

/// The same-user check of a listener. It asks the kernel about each connection.
package struct PeerCheck: Sendable {
    /// Whether connections of other users are rejected. If not, they are the first to be evicted.
    package let turnsAway: Bool
    /// The reason why they are not rejected, if the choice was left to the library and there may be others.
    package let obstacle: BrowserObstacle?
    private let users: Set<UInt32>
    /// The socket for queries to the kernel. It is opened in advance, for the case that descriptors run out.
    private let diagnosis: Int32

    /// - Parameter listeners: The listening sockets.
    package init(
        _ choice: LoopbackRedirectListener.SameUserCheck, _ listeners: [Int32], in desktop: DesktopSession
    ) throws {
        let diagnosis = shims_open_diagnosis()
        let isTold = diagnosis >= 0 && listeners.allSatisfy { shims_tells_users(diagnosis, $0) != 0 }
        do { try self.init(choice, isTold: isTold, in: desktop, diagnosis: diagnosis) } catch {
            if diagnosis >= 0 { shims_end(diagnosis) }
            throw error
        }
    }

    /// - Parameter isTold: Whether the kernel reports which user connects.
    package init(
        _ choice: LoopbackRedirectListener.SameUserCheck, isTold: Bool, in desktop: DesktopSession,
        diagnosis: Int32 = -1
    ) throws {
        (users, self.diagnosis) = (desktop.trustedUsers, diagnosis)
        let isTold = isTold && desktop.hasOwnNumber
        switch choice {
        case .off: (turnsAway, obstacle) = (false, nil)
        case .required:
            guard isTold else { throw Self.untold }
            (turnsAway, obstacle) = (true, nil)
        case .automatic:
            let reason: String? =
                if !isTold {
                    "the kernel does not report which user connects"
                } else if desktop.isWSL {
                    "the browser runs in Windows"
                } else if desktop.users.isEmpty {
                    "the user of the browser is unknown"
                } else { nil }
            turnsAway = reason == nil
            // The programs of Windows are not in this system's list.
            obstacle = reason.flatMap { desktop.isWSL || desktop.hasOtherUsers ? .othersMayConnect($0) : nil }
        }
    }

    /// Returns whether programs of a user may connect.
    package func accepts(_ user: UInt32) -> Bool { users.contains(user) }

    /// Returns whether a connection is served.
    package func admit(_ connection: Int32) -> Admission {
        var user: UInt32 = 0
        // The kernel does not report the user of a connection that was reset, so its sender is unknown.
        guard shims_peer_user(diagnosis, connection, &user) == 0 else { return turnsAway ? .refused : .accepted }
        if accepts(user) { return .accepted }
        return turnsAway ? .refused : .foreign
    }

    package func close() { if diagnosis >= 0 { shims_end(diagnosis) } }

    private static let untold = AuthError(
        .unavailable, .redirect,
        "the same-user check cannot be required here: the kernel does not report which user connects (sock_diag(7))",
        outcome: .notSent)
}

extension Admission {
    /// Refuses a connection to a Unix socket if it is of another user's process.
    package static func ofSameUser(_ connection: Int32) -> Admission {
        var user: UInt32 = 0
        return shims_peer_credentials(connection, &user) == 0 && user == geteuid() ? .accepted : .refused
    }
}
