internal import AppAuth

/// A secret in a file or from a pipe. One line break at its end is removed.
enum SecretFile {
    /// - Parameters:
    ///   - option: The option or variable that names the file, for errors; nil if the user has typed the path.
    ///   - mayBeEmpty: Whether an empty file is an empty secret.
    static func read(_ path: String, of option: String?, mayBeEmpty: Bool = false) throws -> Secret {
        func refusal(_ why: String) -> AuthError {
            let place = option.map { "\($0): \(path)" } ?? path
            return AuthError(.invalidConfiguration, .configuration, "\(place): \(why)")
        }
        let bytes: [UInt8]
        do { bytes = try InputFile.readWaiting(path, atMost: 64 << 10) } catch .cancelled {
            throw CancellationError()
        } catch { throw refusal(error.description) }
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw refusal("expected a secret in UTF-8")
        }
        // Editors of Windows write it at the beginning of a text.
        if text.hasPrefix("\u{FEFF}") { text.unicodeScalars.removeFirst() }
        if text.hasSuffix("\n") || text.hasSuffix("\r\n") { text.removeLast() }
        guard mayBeEmpty || !text.isEmpty else { throw refusal("expected a secret, found an empty file") }
        return Secret(text)
    }
}
