package import AppAuth
internal import Glibc

/// The file in which a sample keeps its session between runs.
package enum StateFile {
    /// Returns a store at `$XDG_STATE_HOME/NAME/session.json`, or below `~/.local/state/NAME` (XDG Base Directory
    /// Specification).
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if neither variable is set.
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
