internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import Glibc

/// Where a path leads.
package struct LinkedPlace {
    let path: String
    /// Why a link is not followed; nil for a safe link, and for no link. The path is then the given one.
    let problem: String?

    init(of path: String) {
        var place = path
        // As many links as Linux follows.
        for _ in 0..<40 {
            var status = stat()
            guard lstat(place, &status) == 0 else {
                // A session was stored and removed there.
                let isRemoved = place == path || access(place + ".lock", F_OK) == 0
                (self.path, problem) = isRemoved ? (place, nil) : (path, "is a symbolic link to nothing, \(place)")
                return
            }
            if status.st_mode & S_IFMT != S_IFLNK {
                guard place != path else {
                    (self.path, problem) = (place, nil)
                    return
                }
                let missing =
                    !Self.isSafe(status)
                    ? "a file of this user with the mode 600 there"
                    : Folder(of: place, location: place).isSafe ? nil : "a folder there that only this user can change"
                (self.path, problem) =
                    missing.map { (path, "is a symbolic link to \(place): expected \($0)") } ?? (place, nil)
                return
            }
            guard [0, geteuid()].contains(status.st_uid) else {
                (self.path, problem) = (path, "is a symbolic link of another user")
                return
            }
            guard let target = Self.target(of: place) else { break }
            place = target.hasPrefix("/") ? target : "\(Folder.parent(of: place))/\(target)"
        }
        (self.path, problem) = (path, "is a symbolic link that cannot be followed")
    }

    private static func isSafe(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_mode & 0o077 == 0
    }

    /// Returns what a link contains.
    package static func target(of link: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = buffer.withUnsafeMutableBytes { bytes in
            bytes.baseAddress.map { readlink(link, $0, bytes.count) } ?? -1
        }
        return count > 0 ? String(validating: buffer[..<count], as: UTF8.self) : nil
    }
}
