public import AppAuthProtocol
public import FoundationEssentials
internal import HTTPTypes

/// What a token is worth, by the word of the provider (RFC 7662 §2.2).
///
/// Of a token that is not active nothing more is known. Whether an active one is meant for this server, and good for
/// what is asked, is for the caller to decide: see ``audience`` and ``scope``.
public struct Introspection: Sendable, Hashable {
    /// Whether the token is good now.
    public let isActive: Bool
    /// What it is good for.
    public let scope: [Scope]
    /// The client that it was issued to.
    public let clientID: String?
    /// What people call the person who granted it.
    public let username: String?
    /// How it is presented, for example `Bearer`.
    public let tokenType: String?
    /// When it ends.
    public let expiration: Date?
    /// When it was issued.
    public let issuedAt: Date?
    /// Before when it is not good.
    public let notBefore: Date?
    /// Whom it is about, mostly the person who granted it.
    public let subject: String?
    /// Whom it is meant for; empty where the provider does not say.
    public let audience: [String]
    /// Who issued it.
    public let issuer: String?
    /// Its name (`jti`).
    public let tokenID: String?
    /// The key that it is bound to (RFC 7800 §3.1): `jkt` of DPoP (RFC 9449 §6.2), `x5t#S256` of mutual TLS (RFC 8705
    /// §3.2). The caller has to check the possession of it: of the latter by ``CertificateThumbprint``.
    public let confirmation: JSON.Object?
    /// All members, with those that have no property here.
    public let members: JSON.Object

    init(response: TransportResponse) throws {
        try self.init(ResponseObject(response, refuse: Self.refusal))
    }

    init(_ object: ResponseObject) throws {
        // §2.2: REQUIRED, a boolean.
        guard let isActive = object.value("active")?.bool else {
            throw object.refusal("expected 'active' to be true or false, found \(object.members["active"].foundKind)")
        }
        self.isActive = isActive
        members = object.members
        scope = try object.string("scope").map([Scope].init(spaceDelimited:)) ?? []
        clientID = try object.string("client_id")
        username = try object.string("username")
        tokenType = try object.string("token_type")
        expiration = try object.time("exp")
        issuedAt = try object.time("iat")
        notBefore = try object.time("nbf")
        subject = try object.string("sub")
        audience = try object.stringOrStrings("aud") ?? []
        issuer = try object.string("iss")
        tokenID = try object.string("jti")
        guard let confirmation = object.value("cnf") else {
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
            .invalidResponse, .introspection, "the introspection response is refused: \(message)",
            httpStatus: HTTPResponse.Status.ok.code)
    }
}
