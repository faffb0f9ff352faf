internal import AppAuth

/// A secret in a file or from a pipe. One line break at its end is removed.
enum SecretFile {
    static func read(_ path: String) throws -> Secret {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
        }
        let bytes: [UInt8]
        do { bytes = try InputFile.readWaiting(path, atMost: 64 << 10) } catch .cancelled {
            throw CancellationError()
        } catch { throw refusal(error.description) }
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("expected a secret in UTF-8")
        }
        if text.hasSuffix("\n") || text.hasSuffix("\r\n") { text.removeLast() }
        guard !text.isEmpty else { throw refusal("expected a secret, found an empty file") }
        return Secret(text)
    }
}
