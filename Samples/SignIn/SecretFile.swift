internal import AppAuth
internal import FoundationEssentials

/// A secret in a file; one line end at its end does not count.
enum SecretFile {
    static func read(_ path: String) throws -> Secret {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "\(path): \(why)", outcome: .notSent)
        }
        guard let data = FileManager.default.contents(atPath: path) else { throw refusal("cannot be read") }
        guard data.count <= 64 << 10, var text = String(validating: data, as: UTF8.self) else {
            throw refusal("expected a secret in UTF-8 of at most 64 KiB")
        }
        if text.hasSuffix("\n") { text.removeLast() }
        if text.hasSuffix("\r\n") { text.removeLast() }
        guard !text.isEmpty else { throw refusal("expected a secret, found an empty file") }
        return Secret(text)
    }
}
