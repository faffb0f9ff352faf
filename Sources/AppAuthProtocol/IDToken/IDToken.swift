public import FoundationEssentials
internal import JOSE

/// A verified ID token (OpenID Connect Core §2), from ``IDTokenVerifier`` or from a store that received it afterwards.
public struct IDToken: Sendable, Hashable {
    /// The token itself, for use as an `id_token_hint`.
    public let rawValue: Secret
    /// All claims.
    public let claims: Claims

    /// The issuer.
    public var issuer: String { claims["iss"]?.string ?? "" }
    /// The user's identifier, unique at the issuer (`sub`).
    public var subject: String { claims.subject ?? "" }
    /// The clients that the token is for.
    public var audience: [String] { claims["aud"]?.stringOrStrings ?? [] }
    /// When the token expires. This does not limit the session or the access token.
    public var expiration: Date { claims.date("exp") ?? .distantPast }
    /// When the token was issued.
    public var issuedAt: Date { claims.date("iat") ?? .distantPast }
    /// When the user signed in at the provider, if the token says so.
    public var authTime: Date? { claims.date("auth_time") }
    /// The authentication context (`acr`), if the token names it.
    public var authenticationContext: String? { claims["acr"]?.string }
    /// The authentication methods (RFC 8176), if the token names them.
    public var authenticationMethods: [String]? { claims["amr"]?.strings }

    /// Whether both tokens are about the same user: `sub` is unique only at its issuer (Core §5.7).
    package func isAbout(userOf other: IDToken) -> Bool {
        issuer.isExactly(other.issuer) && subject.isExactly(other.subject)
    }

    /// How long the user's session at the provider lasts (`session_expiry`, OpenID Connect Enterprise Extensions 1.0 draft 1),
    /// from the time at which the token was issued: both times are the provider's. Nil if that cannot be read.
    package var providerSessionLifetime: Duration? {
        guard let end = claims.date("session_expiry"),
            case let lifetime = end.timeIntervalSince(issuedAt).rounded(.down),
            (1...Double(ResponseObject.longestLifetime)).contains(lifetime)
        else { return nil }
        return .seconds(lifetime)
    }

    /// Reads a token that was verified before it was stored, and does not verify it again.
    package init(storedAfterVerification rawValue: Secret) throws {
        let claims: JSON.Object
        do { claims = try JWS(compact: rawValue.reveal()).claims } catch {
            throw AuthError(.invalidIDToken, .idToken, "\(error)")
        }
        self.init(rawValue: rawValue, claims: Claims(claims))
    }

    init(rawValue: Secret, claims: Claims) { (self.rawValue, self.claims) = (rawValue, claims) }
}

extension AssertionDemand.User {
    /// The user of an ID token.
    public init(_ token: IDToken) { self.init(issuer: token.issuer, subject: token.subject) }
}
