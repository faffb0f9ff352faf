/// How an access token is presented (RFC 6749 §7.1).
public enum TokenType: String, Sendable, Hashable {
    /// Any holder may use the token (RFC 6750).
    case bearer = "Bearer"
    /// Only the holder of the bound key may use the token (RFC 9449).
    case dpop = "DPoP"

    /// Finds a type by its name in any case (RFC 6749 §5.1). Apigee's servers call a bearer token `BearerToken`.
    init?(wire: String) {
        switch wire.lowercased() {
        case "bearer", "bearertoken": self = .bearer
        case "dpop": self = .dpop
        default: return nil
        }
    }
}
