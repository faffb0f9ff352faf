internal import AppAuthProtocol
internal import CShims

extension LoopbackRedirectListener {
    /// Whether programs of other users on this machine may connect to a listener.
    ///
    /// Another user could otherwise open a one-time URL first, or bring a redirect of their own. The kernel tells which
    /// user's program connects (sock_diag(7)). Where the check is on, the connections of others are closed unread, and
    /// use nothing up. The program's own user may connect, and so may root and the user whose login it runs in, also
    /// under `sudo` and `su`. Through `ssh -L` a browser connects as the user who is signed in by SSH.
    public enum SameUserCheck: Sendable, Hashable {
        /// On where it can be, and nobody who may sign in is kept out.
        ///
        /// Off where the kernel does not tell; under WSL, where the browser runs in Windows; and where nothing tells
        /// whose login the program runs in, as in a system service or a container of root's.
        /// ``LoopbackRedirectListener/sameUserObstacle`` then says which of them it is.
        case automatic
        /// On. Where the kernel does not tell, there is no listener.
        case required
        /// Off, for a browser that runs as another user. Where connections are many, others make way first.
        case off
    }
}

/// Who may connect to a listener: asks the kernel about each connection.
package struct PeerCheck: Sendable {
    /// Whether others are turned away. If not, they are the first to make way.
    package let turnsAway: Bool
    /// Why not, where the choice was left to the library.
    package let obstacle: BrowserObstacle?
    private let users: Set<UInt32>
    /// What the kernel is asked through; open from the start, so that it is there when descriptors run out.
    private let diagnosis: Int32

    /// - Parameter listeners: The sockets that are connected to.
    init(
        _ choice: LoopbackRedirectListener.SameUserCheck, _ listeners: [Int32], in desktop: DesktopSession
    ) throws {
        let diagnosis = shims_open_diagnosis()
        let isTold = diagnosis >= 0 && listeners.allSatisfy { shims_tells_users(diagnosis, $0) != 0 }
        do { try self.init(choice, isTold: isTold, in: desktop, diagnosis: diagnosis) } catch {
            if diagnosis >= 0 { shims_end(diagnosis) }
            throw error
        }
    }

    /// - Parameter isTold: Whether the kernel tells who connects.
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
            obstacle =
                if !isTold {
                    .othersMayConnect("the kernel does not tell which user's program connects")
                } else if desktop.isWSL {
                    .othersMayConnect("the browser runs in Windows")
                } else if desktop.people.isEmpty {
                    .othersMayConnect("nothing tells which user the browser belongs to")
                } else { nil }
            turnsAway = obstacle == nil
        }
    }

    /// Whether a user's programs may connect.
    package func accepts(_ user: UInt32) -> Bool { users.contains(user) }

    /// Whether the other end of a connection is another user's.
    func isForeign(_ connection: Int32) -> Bool {
        var user: UInt32 = 0
        // No response about a connection that was reset: whoever sent what it brought could be anybody.
        guard shims_peer_user(diagnosis, connection, &user) == 0 else { return turnsAway }
        return !accepts(user)
    }

    func close() { if diagnosis >= 0 { shims_end(diagnosis) } }

    private static let untold = AuthError(
        .unavailable, .redirect,
        "expected the kernel to tell which user's program connects (sock_diag(7)), found that it does not; the same-user "
            + "check cannot be required here",
        outcome: .notSent)
}
