public import FoundationEssentials
internal import JOSE

/// A verified ID token (OpenID Connect Core §2): it comes from ``IDTokenVerifier``, or from a store that it went into
/// after that.
public struct IDToken: Sendable, Hashable {
    /// The token itself, as it is sent as an `id_token_hint`.
    public let rawValue: Secret
    /// All its claims.
    public let claims: Claims

    /// Who issued it.
    public var issuer: String { claims["iss"]?.string ?? "" }
    /// Who it is about: unique at the issuer (`sub`).
    public var subject: String { claims.subject ?? "" }
    /// Which clients it is meant for.
    public var audience: [String] { Self.audience(of: claims) ?? [] }
    /// Until when it may be accepted. This says nothing about how long the session or the access token lasts.
    public var expiration: Date { claims.date("exp") ?? .distantPast }
    /// When it was issued.
    public var issuedAt: Date { claims.date("iat") ?? .distantPast }
    /// When the person signed in at the provider, if it says.
    public var authTime: Date? { claims.date("auth_time") }
    /// In which authentication context, if it says.
    public var authenticationContext: String? { claims["acr"]?.string }
    /// By which methods (RFC 8176), if it says.
    public var authenticationMethods: [String]? { claims["amr"]?.strings }

    /// Reads a token that is not verified here: it was, before it was stored.
    package init(storedAfterVerification rawValue: Secret) throws {
        let payload: [UInt8]
        do { payload = try JWS(compact: rawValue.reveal()).payload } catch {
            throw AuthError(.invalidIDToken, .idToken, "\(error)")
        }
        try self.init(rawValue: rawValue, payload: payload)
    }

    init(rawValue: Secret, payload: [UInt8]) throws {
        let json: JSON
        do { json = try JSON(parsing: payload) } catch {
            throw AuthError(.invalidIDToken, .idToken, "the ID token's payload is \(error)")
        }
        guard let members = json.object else {
            throw AuthError(
                .invalidIDToken, .idToken, "expected the ID token's payload to be a JSON object, found \(json.kind)")
        }
        (self.rawValue, claims) = (rawValue, Claims(members))
    }

    /// `aud` is a string or an array of strings (RFC 7519 §4.1.3).
    package static func audience(of claims: Claims) -> [String]? {
        claims["aud"]?.strings ?? claims["aud"]?.string.map { [$0] }
    }
}
