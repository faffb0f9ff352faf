import AppAuth
import Glibc
import Testing

/// The decision whether the same-user check is on, by the login session of the program.
struct PeerCheckTests {
    private func check(
        _ choice: LoopbackRedirectListener.SameUserCheck = .automatic, isTold: Bool = true,
        in desktop: DesktopSession
    ) throws -> PeerCheck { try PeerCheck(choice, isTold: isTold, in: desktop) }

    @Test(
        arguments: [
            (DesktopSession(environment: [:], loginUser: 1000), [1000]),
            (DesktopSession(environment: [:], desktopOwner: 1000), [1000]),
            (DesktopSession(environment: ["SSH_CONNECTION": "x"]), [1000]),
            // By sudo, pkexec and su, for which the browser is another user's than the program.
            (DesktopSession(environment: ["SUDO_UID": "1001"], user: 0), [1001]),
            (DesktopSession(environment: ["PKEXEC_UID": "1001"], user: 0), [1001]),
            (DesktopSession(environment: [:], loginUser: 1001), [1000, 1001]),
            (DesktopSession(environment: [:], user: 0, desktopOwner: 1001, loginUser: 1002), [1001, 1002]),
            // In a sandbox or a container, where this user has another number.
            (DesktopSession(environment: [:], user: 5000, desktopOwner: 5000, hasEveryUser: false), [5000]),
            (DesktopSession(environment: [:], user: 5, loginUser: 0, hasEveryUser: false), [5]),
        ] as [(DesktopSession, [UInt32])])
    func `where the user is known, others are turned away`(
        _ desktop: DesktopSession, _ users: [UInt32]
    ) throws {
        let check = try self.check(in: desktop)
        #expect(check.turnsAway && check.obstacle == nil)
        for user in users + [0] { #expect(check.accepts(user), "\(user)") }
        for user in [1003, 65534, .max] as [UInt32] { #expect(!check.accepts(user), "\(user)") }
    }

    @Test(arguments: [
        (DesktopSession(environment: [:]), true, "is unknown"),
        (DesktopSession(environment: [:], user: 0), true, "is unknown"),
        (DesktopSession(environment: ["WSL_DISTRO_NAME": "Debian"], loginUser: 1000), true, "Windows"),
        (DesktopSession(environment: [:], loginUser: 1000, hasWindowsKernel: true), true, "Windows"),
        (DesktopSession(environment: [:], loginUser: 1000), false, "the kernel does not report"),
        // Every user without a number has the same one, this user's.
        (DesktopSession(environment: [:], user: 65534, desktopOwner: 65534, hasEveryUser: false), true, "the kernel"),
        (DesktopSession(environment: [:], user: 5, desktopOwner: 65534, hasEveryUser: false), true, "is unknown"),
    ])
    func `on other systems no connection is refused, and the reason is reported`(
        _ desktop: DesktopSession, _ isTold: Bool, _ reason: String
    ) throws {
        let check = try self.check(isTold: isTold, in: desktop)
        #expect(!check.turnsAway)
        #expect(check.obstacle?.kind == .othersMayConnect)
        #expect(check.obstacle?.message.contains(reason) == true, "\(check.obstacle?.message ?? "")")
    }

    // Under WSL, the users of Windows can connect: no list of this system names them.
    @Test(arguments: [
        (DesktopSession(environment: [:], hasOtherUsers: false), true, false),
        (DesktopSession(environment: [:], loginUser: 1000, hasOtherUsers: false), false, false),
        (DesktopSession(environment: ["WSL_DISTRO_NAME": "Debian"], hasOtherUsers: false), true, true),
    ])
    func `where no other user runs a program, nothing is reported`(
        _ desktop: DesktopSession, _ isTold: Bool, _ isReported: Bool
    ) throws {
        let check = try self.check(isTold: isTold, in: desktop)
        #expect(!check.turnsAway && (check.obstacle != nil) == isReported)
    }

    @Test func `the real user 65534 is a user like others`() throws {
        let check = try self.check(in: DesktopSession(environment: [:], user: 65534, loginUser: 65534))
        #expect(check.turnsAway && check.accepts(65534) && !check.accepts(1000))
    }

    @Test func `a required check is on where the kernel knows the user, and an error elsewhere`() throws {
        let unknown = DesktopSession(environment: ["WSL_DISTRO_NAME": "Debian"])
        let check = try self.check(.required, in: unknown)
        #expect(check.turnsAway && check.obstacle == nil)
        #expect(check.accepts(1000) && !check.accepts(1001))
        let mapped = DesktopSession(environment: [:], user: 65534, hasEveryUser: false)
        for (isTold, desktop) in [(false, unknown), (true, mapped)] {
            let error = #expect(throws: AuthError.self) {
                try self.check(.required, isTold: isTold, in: desktop)
            }
            #expect(error?.code == .unavailable && error?.message.contains("sock_diag") == true)
        }
    }

    /// Without a socket for the question, the kernel reports no user: as for a connection that was reset, but the rules for
    /// those have no part in it.
    @Test(arguments: [
        (LoopbackRedirectListener.SameUserCheck.required, Admission.refused), (.automatic, .refused), (.off, .accepted),
    ])
    func `a connection of an unknown user is refused where the check is on`(
        _ choice: LoopbackRedirectListener.SameUserCheck, _ admission: Admission
    ) throws {
        var pair: [Int32] = [-1, -1]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { for end in pair { close(end) } }
        let check = try self.check(choice, in: DesktopSession(environment: [:], user: geteuid(), loginUser: geteuid()))
        #expect(check.admit(pair[0]) == admission)
    }

    @Test func `a disabled check reports no obstacle`() throws {
        let check = try self.check(.off, in: DesktopSession(environment: [:], loginUser: 1000))
        #expect(!check.turnsAway && check.obstacle == nil)
    }
}
