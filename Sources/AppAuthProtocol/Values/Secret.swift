internal import JOSE

/// A token, code, verifier, password or client secret: a text that cannot be printed by accident.
///
/// Its description, debug description and mirror say `[redacted]`. Comparison takes constant time for equal lengths.
/// The memory is wiped when the last copy is released. ``reveal()`` returns an ordinary string that cannot be wiped:
/// call it where the text is sent or stored, and do not keep the result. Encoding writes the text itself, because a
/// store needs it: encode a secret only into protected stores.
public struct Secret: Sendable, Hashable, Codable {
    private let storage: SecretBytes

    /// Copies a text into memory of its own. The caller's string is not wiped.
    public init(_ text: String) { storage = SecretBytes(text) }

    /// Returns the text as an ordinary string.
    public func reveal() -> String { storage.text }

    package var bytes: [UInt8] { storage.bytes }

    /// The SHA-256 of the text in base64url. It distinguishes secrets in a record or a log without revealing them.
    package var fingerprint: String { storage.fingerprint }

    /// Decodes a single string.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the text itself as a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(reveal())
    }

    /// Compares two secrets in a time that depends only on their lengths.
    public static func == (left: Secret, right: Secret) -> Bool { left.storage == right.storage }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `[redacted]`.
    public var description: String { "[redacted]" }
    /// Always `[redacted]`.
    public var debugDescription: String { "[redacted]" }
    /// A mirror without children, so that `dump` prints nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret {
    /// Creates random bytes from libcrypto, in base64url.
    package init(randomBytes count: Int) throws {
        do { storage = try SecretBytes.random(1, bytes: count)[0] } catch { throw Self.unavailable(error) }
    }

    /// Creates secrets of 32 random bytes each, in base64url, with one call of libcrypto.
    static func random(_ count: Int) throws -> [Secret] {
        do { return try SecretBytes.random(count, bytes: 32).map(Secret.init(storage:)) } catch {
            throw unavailable(error)
        }
    }

    private init(storage: SecretBytes) { self.storage = storage }

    private static func unavailable(_ error: any Error) -> AuthError {
        AuthError(.unavailable, .configuration, "\(error)")
    }
}
