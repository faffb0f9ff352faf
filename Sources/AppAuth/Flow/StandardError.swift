internal import Glibc

/// The error output of the program, for the sentences that the library prints by default.
enum StandardError {
    static func print(_ lines: String...) {
        Array((lines.joined(separator: "\n") + "\n").utf8).withUnsafeBytes { bytes in
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }
}
