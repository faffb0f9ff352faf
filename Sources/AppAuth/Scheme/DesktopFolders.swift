internal import AppAuthProtocol

/// The folders of a desktop's settings (XDG Base Directory Specification).
package struct DesktopFolders: Sendable, Hashable {
    /// The folder for sockets. Only this user can access it, and it exists while the user is logged in.
    package let runtime: String
    /// The parent of `applications`, which contains desktop entries.
    package let data: String
    /// The folder of `mimeapps.list`, which names the handlers of types and schemes.
    package let configuration: String

    /// Returns the folders of this process's environment.
    static func current() throws -> DesktopFolders {
        let names = ["XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"]
        let values = try names.map { ($0, try PathVariable.value($0) ?? "") }
        return try DesktopFolders(Dictionary(uniqueKeysWithValues: values))
    }

    package init(_ environment: [String: String]) throws {
        // The specification treats a path that is not absolute as unset.
        func folder(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
        func folder(_ name: String, else fallback: String) throws -> String {
            if let found = folder(name) { return found }
            guard let home = folder("HOME") else { throw Self.missing("$HOME to be the user’s home folder") }
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
