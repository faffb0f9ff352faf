public import FoundationEssentials
internal import JOSE

/// A client's registration at a provider (RFC 7591 §3.2.1, RFC 7592 §3): its credentials and its current metadata.
///
/// The registered values count, not the requested ones: a provider may replace any of them.
///
/// ```swift
/// let registration = try await ClientRegistrationRequest(provider: provider, metadata: metadata).send(in: .live)
/// let client = try registration.client(at: provider)
/// ```
/// A client created from it keeps it, so that every stored session of the client contains it. Until there is a session,
/// the app stores ``document``, and reads it with ``init(document:)``. It may hold secrets: store it only where other
/// users cannot read it.
public struct ClientRegistration: Sendable, Hashable {
    /// The client ID.
    public let clientID: String
    /// The client secret, if the provider issued one.
    public let clientSecret: Secret?
    /// When the client ID was issued, if the provider says so.
    public let clientIDIssuedAt: Date?
    /// When the secret expires; nil if it does not expire, if the provider does not say, or if there is none.
    /// ``update(in:_:)`` may bring a new secret.
    public let clientSecretExpiresAt: Date?
    /// The token to read, change and delete the registration (RFC 7592), if the provider allows that.
    public let accessToken: Secret?
    /// The URL for that (`registration_client_uri`). A provider that allows it issues both.
    public let configurationEndpoint: SecureURL?
    /// The registered metadata, without the credentials.
    public internal(set) var metadata: ClientMetadata
    /// The number of earlier responses about the client. The registration with the highest number is current.
    let revision: Int

    /// Reads a response.
    ///
    /// The provider has already created or changed the client, and rejecting the response would lose it. Therefore only
    /// the client ID is required. Any other malformed member counts as absent, and ``client(at:keyNamed:)`` throws if
    /// the client cannot authenticate without it.
    ///
    /// - Parameters:
    ///   - server: The endpoint that sent the response.
    ///   - earlier: The client's previous registration, if it has one. Several servers omit unchanged members: token,
    ///     endpoint and secret are then kept.
    init(_ response: TransportResponse, from server: SecureURL, updating earlier: ClientRegistration?) throws {
        let object = try ResponseObject(accepted: response, as: "registration response", stage: .registration)
        try self.init(object, from: server, updating: earlier)
    }

    /// Creates the registration that an app has stored as its ``document``.
    ///
    /// A session has its registration already, and keeps it current: use this initializer only to sign in. As in the
    /// provider's response, only the client ID is required.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the document has no valid client ID.
    public init(document: JSON) throws {
        let object = try ResponseObject(document) { message in
            AuthError(.invalidConfiguration, .registration, "invalid stored registration: \(message)")
        }
        try self.init(object, from: nil, updating: nil)
    }

    private init(_ object: ResponseObject, from server: SecureURL?, updating earlier: ClientRegistration?) throws {
        // RFC 7591 §3.2.1: client_id is REQUIRED. RFC 7592 §2.2: it stays the same.
        clientID = try object.required("client_id") { try object.textOrInteger($0) }
        if let earlier, !clientID.isExactly(earlier.clientID) {
            throw object.refusal("expected the 'client_id' of this client, found another")
        }
        clientIDIssuedAt = object.informativeTime("client_id_issued_at") ?? earlier?.clientIDIssuedAt
        clientSecret = (try? object.secret("client_secret")) ?? earlier?.clientSecret
        // §3.2.1: REQUIRED if there is a secret, and 0 if it does not expire. Some servers omit it: the expiry of an
        // unchanged secret is then kept, and that of a new one is unknown.
        let expiry = object.informativeTime("client_secret_expires_at")
        let known = clientSecret == earlier?.clientSecret ? earlier?.clientSecretExpiresAt : nil
        clientSecretExpiresAt = expiry.map { $0.timeIntervalSince1970 == 0 ? nil : $0 } ?? known
        accessToken = (try? object.secret("registration_access_token")) ?? earlier?.accessToken
        configurationEndpoint =
            (try? object.url("registration_client_uri", namedBy: server)) ?? earlier?.configurationEndpoint
        let members = object.members.members.filter { !ClientMetadata.credentials.contains($0.name) }
        metadata = ClientMetadata(JSON.Object(members.map { ($0.name, $0.value) }))
        revision = earlier.map { $0.revision + 1 } ?? 0
    }

    /// The registration in the form of the provider's response (RFC 7591 §3.2.1), including secrets.
    public var document: JSON {
        var document = metadata.members
        document["client_id"] = .string(clientID)
        document["client_secret"] = clientSecret.map { .string($0.reveal()) }
        document["client_id_issued_at"] = clientIDIssuedAt.map(Self.number)
        if clientSecret != nil { document["client_secret_expires_at"] = clientSecretExpiresAt.map(Self.number) ?? 0 }
        document["registration_access_token"] = accessToken.map { .string($0.reveal()) }
        document["registration_client_uri"] = configurationEndpoint.map { .string($0.string) }
        return .object(document)
    }

    private static func number(_ date: Date) -> JSON { .number(.init(Int(date.timeIntervalSince1970))) }

    /// Returns the client with its registered authentication.
    ///
    /// - Parameters:
    ///   - provider: The provider that registered the client.
    ///   - name: The name by which ``Environment/clientKey`` finds the key of a client that authenticates with one.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if the registered method is unknown here, or
    ///   needs a secret that the provider did not issue; ``AuthError/Code/invalidConfiguration`` if it needs a key and
    ///   `name` is nil.
    public func client(at provider: ProviderMetadata, keyNamed name: String? = nil) throws -> Client {
        var client = Client(id: clientID, authentication: try authentication(keyNamed: name), provider: provider)
        client.registration = self
        return client
    }

    /// Returns the registration with the authentication that a response without one means. RFC 7591 §3.2.1: it returns all
    /// registered metadata. Several servers omit what they have not changed, and the default needs a secret.
    ///
    /// - Parameters:
    ///   - requested: The requested method.
    ///   - listed: The methods that the provider lists.
    func completed(with requested: String?, of listed: [String]?) -> ClientRegistration {
        if let registered = metadata.members[nonEmpty: "token_endpoint_auth_method"] {
            // Without a secret, a client that asked for none has none.
            let isPublic =
                requested == "none" && clientSecret == nil && registered.string?.hasPrefix("client_secret_") == true
            return isPublic ? changing { $0.tokenEndpointAuthMethod = "none" } : self
        }
        let needsSecret = requested?.hasPrefix("client_secret_") ?? true
        if let requested, clientSecret != nil || !needsSecret, listed?.contains(requested) ?? (requested != "none") {
            return changing { $0.tokenEndpointAuthMethod = requested }
        }
        return clientSecret == nil ? changing { $0.tokenEndpointAuthMethod = "none" } : self
    }

    /// Returns the registration with other metadata.
    func changing(_ change: (inout ClientMetadata) -> Void) -> ClientRegistration {
        var changed = self
        change(&changed.metadata)
        return changed
    }

    /// Returns the registered authentication.
    ///
    /// - Parameter audience: The audience of assertions, which is not part of a registration.
    package func authentication(
        keyNamed name: String? = nil, audience: ClientAuthentication.Audience = .issuer
    ) throws -> ClientAuthentication {
        // RFC 7591 §2: the default.
        let registered = metadata.members[nonEmpty: "token_endpoint_auth_method"] ?? "client_secret_basic"
        guard let method = registered.string else {
            throw Self.unusable("expected 'token_endpoint_auth_method' to be a string, found \(registered.kind)")
        }
        switch (method, clientSecret) {
        case ("none", _): return .none
        case ("tls_client_auth", _): return .tlsClientAuth
        case ("self_signed_tls_client_auth", _): return .selfSignedTLSClientAuth
        case ("client_secret_basic", let secret?): return .clientSecretBasic(secret)
        case ("client_secret_post", let secret?): return .clientSecretPost(secret)
        case ("client_secret_jwt", let secret?): return .clientSecretJWT(secret, audience: audience)
        case ("private_key_jwt", _):
            guard let name else {
                throw AuthError(
                    .invalidConfiguration, .registration,
                    "expected the name of the client’s key, since it is registered with private_key_jwt, found none")
            }
            return .privateKeyJWT(keyNamed: name, audience: audience)
        case ("client_secret_basic", nil), ("client_secret_post", nil), ("client_secret_jwt", nil):
            throw Self.unusable("expected a 'client_secret' for \(method), found none")
        default:
            throw Self.unusable(
                "expected a supported 'token_endpoint_auth_method', found "
                    + Redaction(of: [clientSecret].compactMap(\.self)).applied(to: method).foundText)
        }
    }

    private static func unusable(_ message: String) -> AuthError {
        AuthError(.invalidResponse, .registration, "the registration cannot be used: \(message)")
    }
}

extension AuthError.Code {
    /// The provider rejects a redirect URI (RFC 7591 §3.2.2).
    public static let invalidRedirectURI: AuthError.Code = "invalid_redirect_uri"
    /// The provider rejects another member of the metadata (RFC 7591 §3.2.2).
    public static let invalidClientMetadata: AuthError.Code = "invalid_client_metadata"
    /// The software statement is invalid (RFC 7591 §3.2.2).
    public static let invalidSoftwareStatement: AuthError.Code = "invalid_software_statement"
    /// The provider does not approve the software statement (RFC 7591 §3.2.2).
    public static let unapprovedSoftwareStatement: AuthError.Code = "unapproved_software_statement"
}
