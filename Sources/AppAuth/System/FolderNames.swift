internal import Glibc

/// The names in a folder. `FileManager` would take longer to start than the whole of `sign-in token`.
package enum FolderNames {
    /// The folder cannot be read.
    package struct Failure: Error {
        /// The error number, see errno(3).
        package let number: Int32
    }

    /// Reads the names, with `.` and `..`, in the order of the file system.
    package static func read(_ folder: String) throws(Failure) -> [String] {
        guard let stream = opendir(folder) else { throw Failure(number: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        errno = 0
        while let entry = readdir(stream) {
            // An entry is only as long as its name: the whole array may not be read.
            let offset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 0
            let name = UnsafeRawPointer(entry).advanced(by: offset).assumingMemoryBound(to: CChar.self)
            names.append(String(cString: name))
        }
        guard errno == 0 else { throw Failure(number: errno) }
        return names
    }
}
