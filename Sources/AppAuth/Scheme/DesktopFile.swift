internal import AppAuthProtocol
internal import Glibc

/// A small text file of the desktop, read and replaced as a whole.
struct DesktopFile: Sendable {
    let path: String

    private static let largest = 1 << 20

    /// Returns the text, or nil if there is no file.
    func read() throws -> String? {
        let bytes: [UInt8]
        do { bytes = try InputFile.read(path, atMost: Self.largest) } catch .system(ENOENT) {
            return nil
        } catch .system(let error) {
            throw failure("cannot be read", error)
        } catch { throw refusal("was not changed: \(error.description)") }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("is not text in UTF-8. It was not changed")
        }
        return text
    }

    /// Writes a new file next to the old one and renames it. Missing folders are created.
    func write(_ text: String) throws {
        // If the user has made the file a symbolic link, the link stays.
        let path = (try? realPath(path)) ?? path
        try requireOwner(of: path)
        try makeFolder(of: path)
        var status = stat()
        let mode = stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o644
        let new = path + ".appauth-new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        do throws(SystemError) {
            defer { close(descriptor) }
            try OutputFile.write(Array(text.utf8), to: descriptor)
            guard fsync(descriptor) == 0, rename(new, path) == 0 else { throw SystemError(number: errno) }
        } catch {
            unlink(new)
            throw failure("cannot be written", error.number)
        }
    }

    func remove() throws {
        try requireOwner(of: path)
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot be removed") }
    }

    /// Throws if root would write into another user's folder, and leave a file that the desktop of that user cannot
    /// replace.
    func requireOwner() throws { try requireOwner(of: path) }

    private func requireOwner(of path: String) throws {
        do { try Folder(of: path, location: path).requireOwner() } catch let error as AuthError {
            throw AuthError(.unavailable, .redirect, error.message, outcome: .notSent)
        }
    }

    private func makeFolder(of path: String) throws {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let folder = String(path[..<slash])
        guard access(folder, F_OK) != 0 else { return }
        try makeFolder(of: folder)
        // The Base Directory Specification requires 0700.
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw failure("has no folder, and it cannot be created")
        }
    }

    private func failure(_ what: String, _ error: Int32 = errno) -> AuthError {
        refusal("\(what): \(SystemError.text(error))")
    }

    private func refusal(_ what: String) -> AuthError {
        AuthError(.unavailable, .redirect, "\(path) \(what)", outcome: .notSent)
    }
}
