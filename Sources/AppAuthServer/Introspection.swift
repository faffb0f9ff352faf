public import AppAuthProtocol
public import FoundationEssentials
internal import HTTPTypes

/// The provider's statement about a token (RFC 7662 §2.2).
///
/// For an inactive token, nothing else is known. For an active one, the caller must decide whether it is for this
/// server and permits the request: see ``audience`` and ``scope``.
public struct Introspection: Sendable, Hashable {
    /// Whether the token is currently valid.
    public let isActive: Bool
    /// The granted scopes.
    public let scope: [Scope]
    /// The client that the token was issued to.
    public let clientID: String?
    /// A readable name of the user who authorized the token.
    public let username: String?
    /// How the token is presented, for example `Bearer`.
    public let tokenType: String?
    /// When the token expires.
    public let expiration: Date?
    /// When the token was issued.
    public let issuedAt: Date?
    /// When the token becomes valid.
    public let notBefore: Date?
    /// The token's subject, usually the user who authorized it.
    public let subject: String?
    /// The audience of the token; empty if the provider does not say.
    public let audience: [String]
    /// The issuer of the token.
    public let issuer: String?
    /// The token's ID (`jti`).
    public let tokenID: String?
    /// The key that the token is bound to (RFC 7800 §3.1): `jkt` of DPoP (RFC 9449 §6.2), `x5t#S256` of mutual TLS
    /// (RFC 8705 §3.2). The caller must check its possession, in the second case with ``CertificateThumbprint``.
    public let confirmation: JSON.Object?
    /// All members, including those without a property here.
    public let members: JSON.Object

    init(response: TransportResponse) throws {
        try self.init(ResponseObject(response, refuse: Self.refusal))
    }

    init(_ object: ResponseObject) throws {
        // §2.2: REQUIRED, a boolean.
        guard let isActive = object.members["active"]?.bool else {
            throw object.refusal("expected 'active' to be true or false, found \(object.members["active"].foundKind)")
        }
        self.isActive = isActive
        members = object.members
        scope = try object.scope() ?? []
        clientID = try object.string("client_id")
        username = try object.shownText("username")
        tokenType = try object.string("token_type")
        expiration = try object.time("exp")
        issuedAt = try object.time("iat")
        notBefore = try object.time("nbf")
        subject = try object.string("sub")
        audience = try object.stringOrStrings("aud") ?? []
        issuer = try object.string("iss")
        tokenID = try object.string("jti")
        guard let confirmation = object.members["cnf"] else {
            self.confirmation = nil
            return
        }
        guard let members = confirmation.object else {
            throw object.refusal("expected 'cnf' to be an object, found \(confirmation.kind)")
        }
        self.confirmation = members
    }

    static func refusal(_ message: String) -> AuthError {
        AuthError(
            .invalidResponse, .introspection, "invalid introspection response: \(message)",
            httpStatus: HTTPResponse.Status.ok.code)
    }
}
