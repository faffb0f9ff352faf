internal import JOSE

/// A token, code, verifier, password or client secret: a text that cannot be printed by accident.
///
/// Its description, debug description and mirror say `[redacted]`, comparison takes the same time whatever differs, and
/// the memory it owns is wiped when the last copy goes. What ``reveal()`` returns is an ordinary string that nobody can
/// wipe: ask for it where it is sent or stored, and keep it no longer. Encoding writes the text itself, since a store
/// has to: encode it into protected stores alone.
public struct Secret: Sendable, Hashable, Codable {
    private let storage: SecretBytes

    /// Copies a text into memory of its own. The caller's string is not wiped.
    public init(_ text: String) { storage = SecretBytes(text) }

    /// The text itself, as an ordinary string.
    public func reveal() -> String { storage.text }

    package var bytes: [UInt8] { storage.bytes }

    /// The SHA-256 of the text in base64url: tells secrets apart in a record or a log without holding one.
    package var fingerprint: String { Base64URL.encode(Digest.sha256.hash(bytes)) }

    /// Reads a single string.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the text itself as a single string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(reveal())
    }

    /// Compares in a time that depends on the lengths alone.
    public static func == (left: Secret, right: Secret) -> Bool { left.storage == right.storage }

    /// Hashes the text.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Always `[redacted]`.
    public var description: String { "[redacted]" }
    /// Always `[redacted]`.
    public var debugDescription: String { "[redacted]" }
    /// Shows no children, so that `dump` prints nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Secret {
    /// Random bytes by libcrypto, in base64url.
    package init(randomBytes count: Int) throws {
        do { self.init(Base64URL.encode(try JOSE.randomBytes(count))) } catch {
            throw AuthError(.unavailable, .configuration, "\(error)")
        }
    }
}
