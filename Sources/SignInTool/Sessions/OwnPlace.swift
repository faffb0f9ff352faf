internal import AppAuth
internal import Glibc

/// A path on which only this user and root decide.
enum OwnPlace {
    /// Whether a path leads to a regular file that no other user can replace or change: each folder, link and file on the way
    /// belongs to this user or root, and only they can write to it. In a folder like `/tmp`, others cannot replace the file.
    ///
    /// Nothing below `/dev` and `/proc` counts: `/dev/stdin`, for example, is another file in each process.
    static func isFile(_ path: String) -> Bool {
        var (resolved, links, isFile) = ("", 0, false)
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
            else { return false }
            let kind = status.st_mode & S_IFMT
            if kind == S_IFLNK {
                links += 1
                // As many as Linux follows.
                guard links <= 40, let target = LinkedPlace.target(of: next) else { return false }
                if target.hasPrefix("/") { resolved = "" }
                rest += target.split(separator: "/").reversed()
                continue
            }
            let isSticky = kind == S_IFDIR && status.st_mode & S_ISVTX != 0
            guard isSticky || status.st_mode & 0o022 == 0 else { return false }
            (resolved, isFile) = (next, kind == S_IFREG)
        }
        return isFile
    }
}
