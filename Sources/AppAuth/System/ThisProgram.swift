internal import AppAuthProtocol
internal import Glibc

/// The program of this process.
package enum ThisProgram {
    /// Returns its path.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the path leads to another file by now: the program may
    ///   have been removed, and another user may have put a file there.
    package static func path() throws -> String {
        let own = "/proc/self/exe"
        let path: String
        do { path = try realPath(own) } catch { throw unknown(error.text) }
        var (running, found) = (stat(), stat())
        guard stat(own, &running) == 0, stat(path, &found) == 0 else { throw unknown(SystemError.text(errno)) }
        guard running.st_dev == found.st_dev, running.st_ino == found.st_ino else {
            throw unknown("another file is at \(path)")
        }
        return path
    }

    private static func unknown(_ why: String) -> AuthError {
        AuthError(.unavailable, .configuration, "the path of this program is not known: \(why)", outcome: .notSent)
    }
}
