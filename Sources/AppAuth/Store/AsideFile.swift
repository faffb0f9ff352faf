internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// Moves a file out of the way of a new one.
package enum AsideFile {
    /// Renames a file, a folder or a link, but never the target of a link, to an unused name.
    ///
    /// - Returns: The new path, or nil if nothing exists at the path.
    @discardableResult
    package static func move(_ path: String, location: String) throws -> String? {
        let stem = "\(path).damaged-\(Self.date)"
        for count in 1...100 {
            let name = count == 1 ? stem : "\(stem)-\(count)"
            if shims_rename_to_free_name(path, name) == 0 { return name }
            if errno == ENOENT { return nil }
            guard errno == EEXIST else { break }
        }
        throw AuthError.store(location, "cannot be set aside", errno: errno)
    }

    /// The current time for names of files and entries: `20261123T084300Z`.
    static var date: String {
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let count = strftime(&text, text.count, "%Y%m%dT%H%M%SZ", &parts)
        return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
