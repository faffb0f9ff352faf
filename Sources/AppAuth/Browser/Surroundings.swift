internal import FoundationEssentials
internal import Glibc

/// What a program can know of the place that it runs in before it starts a browser there.
package struct Surroundings: Sendable, Hashable {
    package var environment: [String: String]
    /// The effective user.
    package var user: UInt32
    /// Whose graphical session this is, by its files: nil if there are none.
    package var desktopOwner: UInt32?
    /// Whether the kernel is that of the Windows Subsystem for Linux.
    package var hasWindowsKernel: Bool
    /// Whether this is the inside of a Flatpak.
    package var isFlatpak: Bool
    /// The desktop entry that opens https, for example `firefox.desktop`; nil if none is set.
    package var defaultBrowser: String?

    package init(
        environment: [String: String], user: UInt32 = 1000, desktopOwner: UInt32? = nil, hasWindowsKernel: Bool = false,
        isFlatpak: Bool = false, defaultBrowser: String? = nil
    ) {
        (self.environment, self.user, self.desktopOwner) = (environment, user, desktopOwner)
        (self.hasWindowsKernel, self.isFlatpak, self.defaultBrowser) = (hasWindowsKernel, isFlatpak, defaultBrowser)
    }

    /// Those of this process, now.
    package static var current: Surroundings {
        let environment = ProcessInfo.processInfo.environment
        let kernel = FileManager.default.contents(atPath: "/proc/sys/kernel/osrelease") ?? Data()
        return Surroundings(
            environment: environment, user: geteuid(),
            // X11 is entered by a file of the person's, Wayland by a socket in their folder.
            desktopOwner: owner(of: environment["XAUTHORITY"]) ?? owner(of: environment["XDG_RUNTIME_DIR"]),
            hasWindowsKernel: String(decoding: kernel, as: UTF8.self).lowercased().contains("microsoft"),
            isFlatpak: access("/.flatpak-info", F_OK) == 0, defaultBrowser: DefaultBrowser.entry(in: environment))
    }

    private static func owner(of path: String?) -> UInt32? {
        var status = stat()
        guard let path, stat(path, &status) == 0 else { return nil }
        return status.st_uid
    }
}

extension Surroundings {
    /// A variable that is set to something.
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }

    func has(_ names: String...) -> Bool { names.contains { value($0) != nil } }

    /// Set for an X server, also a forwarded one, and for a Wayland compositor.
    var hasDisplay: Bool { has("DISPLAY", "WAYLAND_DISPLAY") }
    var isSSHSession: Bool { has("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY") }
    var isWSL: Bool { hasWindowsKernel || has("WSL_DISTRO_NAME", "WSL_INTEROP") }
    /// Whether the portal opens URLs, which asks the desktop outside over D-Bus and needs no display here.
    var isSandbox: Bool { isFlatpak || has("SNAP") }

    /// sudo and pkexec say who called them; su says nothing, and leaves the person's files in the environment.
    var isOnAnotherDesktop: Bool {
        let callers = [value("SUDO_UID"), value("PKEXEC_UID")].compactMap { $0.flatMap(UInt32.init) } + [desktopOwner]
        return callers.contains { $0 != nil && $0 != user }
    }
}
