internal import FoundationEssentials
internal import Glibc

/// The properties of the environment that this program would start a browser in.
package struct DesktopSession: Sendable, Hashable {
    package var environment: [String: String]
    /// The effective user.
    package var user: UInt32
    /// The owner of the graphical session according to its files, or nil if there are none.
    package var desktopOwner: UInt32?
    /// The user of the login session that this process belongs to, which neither su nor sudo changes. It is nil if
    /// there is none.
    package var loginUser: UInt32?
    /// Whether other users run programs here; nil to look when asked.
    private let knownOthers: Bool?
    /// Whether every user of the machine has a number here, as outside of user namespaces.
    package var hasEveryUser: Bool
    /// Whether the kernel is that of the Windows Subsystem for Linux.
    package var hasWindowsKernel: Bool
    /// Whether this process runs in a Flatpak.
    package var isFlatpak: Bool
    /// The desktop entry that opens https, for example `firefox.desktop`, or nil if none is set.
    package var defaultBrowser: String?

    package init(
        environment: [String: String], user: UInt32 = 1000, desktopOwner: UInt32? = nil, loginUser: UInt32? = nil,
        hasOtherUsers: Bool? = true, hasEveryUser: Bool = true, hasWindowsKernel: Bool = false,
        isFlatpak: Bool = false,
        defaultBrowser: String? = nil
    ) {
        (self.environment, self.user, self.desktopOwner) = (environment, user, desktopOwner)
        (self.loginUser, knownOthers, self.hasEveryUser) = (loginUser, hasOtherUsers, hasEveryUser)
        (self.hasWindowsKernel, self.isFlatpak, self.defaultBrowser) = (hasWindowsKernel, isFlatpak, defaultBrowser)
    }

    /// The current properties of this process.
    package static var current: DesktopSession {
        let environment = ProcessInfo.processInfo.environment
        return DesktopSession(
            environment: environment, user: geteuid(),
            // X11 access requires a file of the user, and Wayland access a socket in the user's folder.
            desktopOwner: owner(ofDesktop: environment["XAUTHORITY"])
                ?? owner(ofDesktop: environment["XDG_RUNTIME_DIR"]),
            loginUser: loginUser, hasOtherUsers: nil,
            hasEveryUser: UserNamespace.hasEveryUser,
            hasWindowsKernel: words("/proc/sys/kernel/osrelease").joined().lowercased().contains("microsoft"),
            isFlatpak: access("/.flatpak-info", F_OK) == 0,
            defaultBrowser: DefaultHandler.entry(for: "x-scheme-handler/https", in: environment))
    }

    /// The user that pam_loginuid(8) has set. The highest number means none.
    private static var loginUser: UInt32? {
        words("/proc/self/loginuid").first.flatMap { UInt32($0) }.flatMap { $0 == .max ? nil : $0 }
    }

    /// Returns the words of a small kernel file, or none if it cannot be read.
    private static func words(_ path: String) -> [Substring] {
        let bytes = (try? InputFile.read(path, atMost: 64 << 10)) ?? []
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    }

    /// Whether a program of another person runs here, who could act on what they see. A user who has an account only, such
    /// as the one in an image of a container, cannot.
    var hasOtherUsers: Bool {
        if let knownOthers { return knownOthers }
        let names = (try? FolderNames.read("/proc")) ?? []
        let processes = names.filter { $0.first?.isNumber == true }
        // The administrator may hide other users' processes (hidepid in proc(5)).
        let isHidden = Self.owner(of: "/proc/1") == nil
        return isHidden || processes.contains { Self.owner(of: "/proc/\($0)").map(accepts) == false }
    }

    /// Returns the owner of a file of the desktop; nil if yet another user could have put it there, as in /tmp.
    package static func owner(ofDesktop path: String?) -> UInt32? {
        guard let path, var place = try? realPath(path), let owner = owner(of: place) else { return nil }
        while place != "/", let end = place.lastIndex(of: "/") {
            place = end == place.startIndex ? "/" : String(place[..<end])
            var folder = stat()
            guard stat(place, &folder) == 0, folder.st_mode & 0o022 == 0, [0, owner].contains(folder.st_uid) else {
                return nil
            }
        }
        return owner
    }

    private static func owner(of path: String?) -> UInt32? {
        var status = stat()
        guard let path, stat(path, &status) == 0 else { return nil }
        return status.st_uid
    }
}

extension DesktopSession {
    /// Returns the value of a variable, or nil if it is unset or empty.
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    func has(_ names: String...) -> Bool { names.contains { value($0) != nil } }

    /// The variables are set for an X server, including a forwarded one, and for a Wayland compositor.
    var hasDisplay: Bool { has("DISPLAY", "WAYLAND_DISPLAY") }
    var isSSHSession: Bool { has("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY") }
    var isWSL: Bool { hasWindowsKernel || has("WSL_DISTRO_NAME", "WSL_INTEROP") }
    /// Whether the portal opens URLs. It asks the desktop outside over D-Bus and needs no display here.
    var isSandbox: Bool { isFlatpak || has("SNAP") }

    var isOnAnotherDesktop: Bool { callers.contains { $0 != user } }

    /// The users that sudo and pkexec report as their callers, and the owner of the desktop: su reports no caller, but
    /// keeps the user's files in the environment.
    private var callers: [UInt32] {
        ([value("SUDO_UID"), value("PKEXEC_UID")].map { $0.flatMap { UInt32($0) } } + [desktopOwner]).compactMap { $0 }
    }
}

/// The users whose programs are trusted.
extension DesktopSession {
    /// Whether the user of this process can be told apart from others.
    var hasOwnNumber: Bool { hasEveryUser || user != UserNamespace.anyOtherUser }

    /// The users that may own the browser, or none if that is unknown. Through `ssh -L`, a browser connects from a
    /// process of the user who is signed in by SSH.
    var users: Set<UInt32> {
        let known = callers + [loginUser, isSSHSession ? user : nil].compactMap { $0 }
        return Set(known.filter { hasEveryUser || $0 != UserNamespace.anyOtherUser })
    }

    /// Returns whether a user is this one, a trusted one or the system, and no other person.
    ///
    /// Services of the system run as users below 1000, or above 61183: systemd's dynamic users, and `nobody`. In a user
    /// namespace, the latter stands for all users whose number is unknown there.
    func accepts(_ user: UInt32) -> Bool {
        trustedUsers.contains(user) || user == self.user || user < 1000
            || (61184..<UserNamespace.anyOtherUser).contains(user) || user == UserNamespace.anyOtherUser && hasEveryUser
    }

    /// The users whose programs may connect. Root can read this process's memory in any case.
    var trustedUsers: Set<UInt32> { users.union(hasOwnNumber ? [0, user] : [0]) }
}
