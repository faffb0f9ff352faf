public import AppAuth
internal import Foundation

/// A small file that contains a secret and is readable only by its owner.
public enum PrivateFile {
    /// Reads a secret. One line break at its end is removed.
    ///
    /// - Throws: As ``text(_:)``.
    public static func secret(_ path: String) throws -> Secret {
        var text = try text(path)
        // A line break is one character, even if it has two bytes.
        if text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else { throw refusal(path, "expected a secret, found an empty file") }
        return Secret(text)
    }

    /// Reads the whole file.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` and the file's path, if the file cannot be
    ///   read, is accessible to other users, or is not UTF-8 text of at most 64 KiB.
    public static func text(_ path: String) throws -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw refusal(path, String(cString: strerror(errno))) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        // The status of the open file: the path may lead to another file by now.
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal(path, "expected a file, found something else")
        }
        guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            throw refusal(path, "expected a file that only you can read, found one that others can read: chmod 600")
        }
        guard let bytes = try? file.read(upToCount: limit + 1) ?? Data(), bytes.count <= limit,
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw refusal(path, "expected a text in UTF-8 of at most \(limit >> 10) KiB")
        }
        return text
    }

    private static let limit = 64 << 10

    private static func refusal(_ path: String, _ why: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, "\(path): \(why)")
    }
}
