package import AppAuth
internal import Glibc

/// Where a sample keeps its session from one start to the next.
package enum StateFile {
    /// A store in `$XDG_STATE_HOME/NAME/session.json`, else in `~/.local/state/NAME` (XDG Base Directory Specification).
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` without either variable.
    package static func store(_ sample: String) throws -> FileTokenStore {
        if let folder = variable("XDG_STATE_HOME"), folder.hasPrefix("/") {
            return FileTokenStore(path: "\(folder)/\(sample)/session.json")
        }
        guard let home = variable("HOME") else {
            throw AuthError(.store, .store, "expected HOME or XDG_STATE_HOME in the environment, found neither")
        }
        return FileTokenStore(path: "\(home)/.local/state/\(sample)/session.json")
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
