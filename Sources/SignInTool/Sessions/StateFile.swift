internal import AppAuth
internal import Glibc

/// A small text file in the state folder that says which session a command uses, or where it is.
///
/// A file that is there but cannot be used is an error. If it counted as missing, the command would go on with another
/// session.
struct StateFile: Sendable {
    let path: String
    /// What the user can do if the file cannot be used, as a sentence. It must also help with a folder there.
    let remedy: String

    private var file: OwnedFile { OwnedFile(path: path, limit: 64 << 10) }

    /// Returns the text without its last line break; nil if there is no file.
    func read() throws -> String? {
        try advising {
            try file.read { bytes in
                let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
                guard let text = String(validating: line, as: UTF8.self) else { throw damaged }
                return text
            }
        }
    }

    /// The error of a text that is not what the file must have.
    var damaged: AuthError { AuthError(.store, .store, "\(path) is damaged. \(remedy)", outcome: .notSent) }

    /// Writes the file, which only the user can read, as a whole. A folder in its place is set aside.
    func write(_ text: String, mustBeNew: Bool = false) throws {
        try advising { try file.write(Array(text.utf8), mustBeNew: mustBeNew) }
    }

    /// Removes the file, or the link in its place. A folder is set aside. It is also a success if there is nothing.
    func remove() throws {
        let folder = Folder(of: path, location: path)
        try folder.requireOwner()
        if unlink(path) != 0 {
            if errno == ENOENT { return }
            guard errno == EISDIR else { throw AuthError.store(path, "cannot be removed", errno: errno) }
            try AsideFile.move(path, location: path)
        }
        try folder.synchronise()
    }

    /// Adds the remedy to the error of a file that cannot be used.
    private func advising<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as AuthError where error.storeProblem == .damaged {
            throw AuthError(.store, .store, "\(error.message). \(isLink ? removal : remedy)", outcome: .notSent)
        }
    }

    private var isLink: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// A link that is not followed is not replaced either.
    private var removal: String { "To remove the link: \(["rm", path].shellLine)" }

    /// Whether something is at a path, even if it cannot be read: a link without a target, or a file in a folder that
    /// cannot be searched.
    static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 || errno != ENOENT
    }
}
