internal import Glibc

/// Returns the absolute path of what is there, without links, `.` and `..`.
package func realPath(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemError(number: errno) }
    defer { free(resolved) }
    return String(cString: resolved)
}
