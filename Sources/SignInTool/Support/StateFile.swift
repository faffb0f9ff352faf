internal import AppAuth
internal import Glibc

/// A small text file in the state folder that says which session a command uses, or where it is.
///
/// A file that is there but cannot be used is an error. If it counted as missing, the command would go on with another
/// session.
struct StateFile: Sendable {
    let path: String
    /// What the user can do if the file cannot be used, as a sentence. It must also help with a link or a folder there.
    let remedy: String

    private var folder: Folder { Folder(of: path, location: path) }

    /// Returns the text without its last line break; nil if there is no file.
    func read() throws -> String? {
        // O_NONBLOCK: a named pipe in place of the file must not block the call.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw unusable("is a symbolic link")
            case EACCES where Folder.isOurs(path) == false: throw foreign
            default: throw AuthError.unopened(path, path, "cannot be read", errno: errno)
            }
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw unusable("is not a regular file")
        }
        guard status.st_uid == geteuid() else { throw foreign }
        do {
            let bytes = try InputFile.contents(of: descriptor, atMost: 64 << 10)
            return String(decoding: bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...], as: UTF8.self)
        } catch .system(let error) { throw AuthError.store(path, "cannot be read", errno: error) } catch {
            throw damaged
        }
    }

    /// The error of a text that is not what the file must have.
    var damaged: AuthError { unusable("is damaged") }

    private var foreign: AuthError { folder.ofAnotherUser ?? unusable("belongs to another user") }

    private func unusable(_ what: String) -> AuthError {
        AuthError(.store, .store, "\(path) \(what). \(remedy)", outcome: .notSent)
    }

    /// Writes the file, which only the user can read, as a whole. What is not a file in its place is set aside.
    func write(_ text: String) throws {
        try folder.make()
        let new = "\(path).\(getpid()).new"
        do throws(SystemError) {
            let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw SystemError(number: errno) }
            defer { close(descriptor) }
            try OutputFile.write(Array(text.utf8), to: descriptor)
        } catch {
            unlink(new)
            throw AuthError.store(path, "cannot be written", errno: error.number)
        }
        if rename(new, path) == 0 { return }
        let error = errno
        if error == EISDIR, try AsideFile.move(path, location: path) != nil, rename(new, path) == 0 { return }
        unlink(new)
        throw AuthError.store(path, "cannot be written", errno: error)
    }

    /// Removes the file. What is not a file in its place is set aside. It is also a success if there is nothing.
    func remove() throws {
        try folder.requireOwner()
        guard unlink(path) != 0, errno != ENOENT else { return }
        guard errno == EISDIR else { throw AuthError.store(path, "cannot be removed", errno: errno) }
        try AsideFile.move(path, location: path)
    }

    /// Whether something is at a path, even if it cannot be read: a link without a target, or a file in a folder that
    /// cannot be searched.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno != ENOENT
    }
}
