internal import AppAuthProtocol
internal import FoundationEssentials
internal import Glibc

/// Where a desktop keeps what it is told (XDG Base Directory Specification).
package struct DesktopFolders: Sendable, Hashable {
    /// For sockets: this user's alone, for as long as the person is signed in to the machine.
    package let runtime: String
    /// Has `applications`, with desktop entries.
    package let data: String
    /// Has `mimeapps.list`, which says who handles what.
    package let configuration: String

    /// The folders of this process's environment.
    static func current() throws -> DesktopFolders { try DesktopFolders(ProcessInfo.processInfo.environment) }

    package init(_ environment: [String: String]) throws {
        // The specification: what is not absolute is as good as unset.
        func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        func folder(_ name: String, else fallback: String) throws -> String {
            if let found = folder(name) { return found }
            guard let home = folder("HOME") else { throw Self.missing("$HOME to be the person's home folder") }
            return "\(home)/\(fallback)"
        }
        guard let runtime = folder("XDG_RUNTIME_DIR") else {
            throw Self.missing(
                "$XDG_RUNTIME_DIR to be the folder that a login makes for its user (pam_systemd: /run/user/ID)")
        }
        self.runtime = runtime
        data = try folder("XDG_DATA_HOME", else: ".local/share")
        configuration = try folder("XDG_CONFIG_HOME", else: ".config")
    }

    private static func missing(_ what: String) -> AuthError {
        AuthError(.unavailable, .redirect, "expected \(what), found no absolute path", outcome: .notSent)
    }
}
