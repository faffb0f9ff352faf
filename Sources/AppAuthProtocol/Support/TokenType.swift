/// How an access token is presented (RFC 6749 §7.1).
public enum TokenType: String, Sendable, Hashable {
    /// Whoever has it may use it (RFC 6750).
    case bearer = "Bearer"
    /// Good in the hands of whoever has the key that it is bound to (RFC 9449).
    case dpop = "DPoP"

    /// The type by its name in any case (RFC 6749 §5.1).
    init?(wire: String) {
        let types: [TokenType] = [.bearer, .dpop]
        guard let type = types.first(where: { $0.rawValue.lowercased() == wire.lowercased() }) else { return nil }
        self = type
    }
}
