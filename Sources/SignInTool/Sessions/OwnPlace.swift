internal import AppAuth
internal import Glibc

/// A path on which only this user and root decide.
enum OwnPlace {
    /// Whether a path leads to a regular file that no other user can replace or change: each folder, link and file on the way
    /// belongs to this user or root, and only they can write to it. In a folder like `/tmp`, others cannot replace the file.
    ///
    /// Nothing below `/dev` and `/proc` counts: `/dev/stdin`, for example, is another file in each process.
    static func isFile(_ path: String) -> Bool {
        let kind = kind(of: path, outside: ["/dev", "/proc"]) { found, _ in
            let (kind, isSticky) = (found.st_mode & S_IFMT, found.st_mode & S_ISVTX != 0)
            return [0, geteuid()].contains(found.st_uid)
                && (kind == S_IFLNK || kind == S_IFDIR && isSticky || found.st_mode & 0o022 == 0)
        }
        return kind == S_IFREG
    }

    /// Whether another user has put something in the place of a file, a link or a folder on the way: it belongs neither to this
    /// user nor to root, nor to the owner of the folder that it is in.
    static func isPlanted(_ path: String) -> Bool {
        var isPlanted = false
        _ = kind(of: path) { found, owner in
            isPlanted = ![0, geteuid(), owner].contains(found.st_uid)
            return !isPlanted
        }
        return isPlanted
    }

    /// Returns the kind of what a path leads to; nil if that is nothing, or something on the way is not accepted.
    ///
    /// - Parameters:
    ///   - excluded: Folders that the way must not lead through.
    ///   - accepts: Gets what is on the way, and the owner of the folder that it is in.
    private static func kind(
        of path: String, outside excluded: [String] = [], _ accepts: (_ found: stat, _ owner: uid_t) -> Bool
    ) -> mode_t? {
        var (resolved, links, kind) = ("", 0, mode_t?.none)
        var rest: [Substring] = path.split(separator: "/").reversed()
        while let name = rest.popLast() {
            if name == "." { continue }
            if name == ".." {
                resolved = String(resolved.prefix(upTo: resolved.lastIndex(of: "/") ?? resolved.startIndex))
                continue
            }
            let next = "\(resolved)/\(name)"
            var (folder, found) = (stat(), stat())
            guard !excluded.contains(next), lstat(resolved + "/", &folder) == 0, lstat(next, &found) == 0,
                accepts(found, folder.st_uid)
            else { return nil }
            kind = found.st_mode & S_IFMT
            guard kind == S_IFLNK else {
                resolved = next
                continue
            }
            links += 1
            // As many as Linux follows.
            guard links <= 40, let target = LinkedPlace.target(of: next) else { return nil }
            if target.hasPrefix("/") { resolved = "" }
            rest += target.split(separator: "/").reversed()
        }
        return kind
    }
}

extension AuthError {
    /// - Parameter option: The option with which the user can name another file.
    static func planted(_ path: String, option: String = "--client-assertion-file") -> AuthError {
        AuthError(
            .invalidConfiguration, .configuration,
            "\(path.shownName) was named at an earlier sign-in, and what is there now is another user’s. Name another file with "
                + option)
    }
}
