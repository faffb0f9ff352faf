internal import AppAuthProtocol
internal import Glibc
internal import JOSE

/// The user's home folder.
package enum HomeFolder {
    /// Returns `$HOME`, or else the home folder in the system's user database. A sandbox or a container sets `$HOME` to
    /// a writable folder, and the one in the database often does not exist.
    ///
    /// - Parameter location: The store, for the error.
    static func path(for location: String) throws -> String {
        if let home = try variable() { return home }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        let error = getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found)
        guard error == 0, found != nil, let home = entry.pw_dir.map({ String(cString: $0) }), home.hasPrefix("/") else {
            throw AuthError(
                .store, .store, "\(location) has no folder: expected a home folder of the user, found none",
                outcome: .notSent)
        }
        return home
    }

    /// Returns `$HOME`, or nil if it is unset or empty.
    ///
    /// - Throws: ``AuthError`` if it is relative: each folder of a shell would have other sessions.
    package static func variable() throws -> String? {
        guard let home = try PathVariable.value("HOME") else { return nil }
        guard home.hasPrefix("/") else {
            throw AuthError(
                .store, .store, "HOME is \(home.onOneLine.foundText): expected an absolute path", outcome: .notSent)
        }
        return home
    }
}
