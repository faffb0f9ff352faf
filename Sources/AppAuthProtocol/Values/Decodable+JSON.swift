internal import FoundationEssentials
internal import JOSE

extension Decodable {
    /// Decodes a value from JSON.
    ///
    /// - Throws: The refusal, with a message that names the type and the wrong member. It quotes no value, because the
    ///   JSON may contain the user's data.
    package static func decoded(from bytes: [UInt8], refusal: (_ message: String) -> AuthError) throws -> Self {
        do { return try JSONDecoder().decode(Self.self, from: Data(bytes)) } catch {
            let reason = (error as? DecodingError)?.reason ?? "found something else"
            throw refusal("expected JSON that decodes as \(Self.self), \(reason)")
        }
    }
}

extension DecodingError {
    fileprivate var reason: String {
        switch self {
        case .keyNotFound(let key, let context): "found no \(Self.name(context.codingPath + [key]))"
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            "found \(Self.name(context.codingPath)) that is no \(type)"
        case .dataCorrupted(let context): "found \(Self.name(context.codingPath)) that cannot be read"
        @unknown default: "found something else"
        }
    }

    /// The name of a member, for example `'address.lines.0'`.
    private static func name(_ path: [any CodingKey]) -> String {
        if path.isEmpty { return "a document" }
        let names = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return "\(names.joined(separator: ".").foundText)"
    }
}
