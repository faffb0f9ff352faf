package import AppAuth
internal import Glibc

/// A small file that holds a secret, and that nobody but its owner can read.
package enum PrivateFile {
    /// Reads a secret; one line end at its end does not count.
    ///
    /// - Throws: As ``text(_:)``.
    package static func secret(_ path: String) throws -> Secret {
        var text = try text(path)
        // A line end is one character, also where it is two bytes.
        if text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else { throw refusal(path, "expected a secret, found an empty file") }
        return Secret(text)
    }

    /// Reads the whole file.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that names the file, if it cannot be read, if
    ///   others can read it, or if it is no text of at most 64 KiB.
    package static func text(_ path: String) throws -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw refusal(path, String(cString: strerror(errno))) }
        defer { close(file) }
        // Asked of the open file: what stands at the path may be another by then.
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw refusal(path, "expected a file, found something else")
        }
        guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            throw refusal(path, "expected a file that you alone can read, found one for others too: chmod 600")
        }
        guard let bytes = try? InputFile.contents(of: file, atMost: limit),
            let text = String(validating: bytes, as: UTF8.self)
        else {
            throw refusal(path, "expected a text in UTF-8 of at most \(limit >> 10) KiB")
        }
        return text
    }

    private static let limit = 64 << 10

    private static func refusal(_ path: String, _ why: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
    }
}
