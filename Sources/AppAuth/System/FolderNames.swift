internal import Glibc

/// The names in a folder. `FileManager` would take longer to start than the whole of `sign-in token`.
package enum FolderNames {
    /// Reads the names, with `.` and `..`, in the order of the file system.
    package static func read(_ folder: String) throws(SystemError) -> [String] {
        guard let stream = opendir(folder) else { throw SystemError(number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            // An entry is only as long as its name: the whole array may not be read.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
            let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
            names.append(String(cString: name))
        }
        guard errno == 0 else { throw SystemError(number: errno) }
        return names
    }
}
