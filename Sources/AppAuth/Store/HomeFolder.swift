internal import AppAuthProtocol
internal import Glibc

/// The person's home folder.
enum HomeFolder {
    /// `$HOME`, else what the system's list of users says. In this order: a sandbox or a container names a home in `$HOME`
    /// that can be written to, and the one on the list is often not there.
    ///
    /// - Parameter place: The store, for the error.
    static func path(for location: String) throws -> String {
        if let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") { return home }
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16384)
        let error = getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found)
        guard error == 0, found != nil, let home = entry.pw_dir.map({ String(cString: $0) }), home.hasPrefix("/") else {
            throw AuthError(
                .store, .store, "\(location) cannot be locked: expected a home folder, found none", outcome: .notSent)
        }
        return home
    }
}
