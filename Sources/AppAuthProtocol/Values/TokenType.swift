/// How an access token is presented (RFC 6749 §7.1).
public enum TokenType: String, Sendable, Hashable {
    /// Any holder may use the token (RFC 6750).
    case bearer = "Bearer"
    /// Only the holder of the bound key may use the token (RFC 9449).
    case dpop = "DPoP"

    /// Finds a type by its name in any case (RFC 6749 §5.1).
    init?(wire: String) {
        let types: [TokenType] = [.bearer, .dpop]
        guard let type = types.first(where: { $0.rawValue.lowercased() == wire.lowercased() }) else { return nil }
        self = type
    }
}
