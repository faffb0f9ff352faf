internal import AppAuth
internal import Glibc

/// A path on which only this user and root decide.
enum OwnPlace {
    /// Whether a path leads to a regular file that no other user can replace or change: each folder, link and file on the way
    /// belongs to this user or root, and only they can write to it. In a folder like `/tmp`, others cannot replace the file.
    ///
    /// Nothing below `/dev` and `/proc` counts: `/dev/stdin`, for example, is another file in each process.
    static func isFile(_ path: String) -> Bool { kind(of: path) { $0.st_mode & 0o022 == 0 } == S_IFREG }

    /// Whether no other user can replace what is at a path, whatever it is. Members of a group with the number of its user may
    /// write: on many systems, each user has such a group alone, and shares new files with it.
    static func isOnlyOurs(_ path: String) -> Bool {
        kind(of: path) { $0.st_mode & ($0.st_gid == $0.st_uid ? 0o002 : 0o022) == 0 } != nil
    }

    /// Returns the kind of what a path leads to; nil if that is nothing, or other users decide on it.
    private static func kind(of path: String, _ isClosed: (stat) -> Bool) -> mode_t? {
        var (resolved, links, found) = ("", 0, mode_t?.none)
        var rest: [Substring] = path.split(separator: "/").reversed()
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                resolved = String(resolved.prefix(upTo: resolved.lastIndex(of: "/") ?? resolved.startIndex))
                continue
            }
            let next = "\(resolved)/\(name)"
            var status = stat()
            guard !["/dev", "/proc"].contains(next), lstat(next, &status) == 0, [0, geteuid()].contains(status.st_uid)
            else { return nil }
            let kind = status.st_mode & S_IFMT
            if kind == S_IFLNK {
                links += 1
                // As many as Linux follows.
                guard links <= 40, let target = LinkedPlace.target(of: next) else { return nil }
                if target.hasPrefix("/") { resolved = "" }
                rest += target.split(separator: "/").reversed()
                continue
            }
            let isSticky = kind == S_IFDIR && status.st_mode & S_ISVTX != 0
            guard isSticky || isClosed(status) else { return nil }
            (resolved, found) = (next, kind)
        }
        return found
    }
}
