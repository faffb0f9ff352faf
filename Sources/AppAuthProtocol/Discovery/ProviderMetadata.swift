internal import JOSE

/// A provider's metadata (OpenID Connect Discovery §3, RFC 8414 §2): its issuer, its endpoints and what it supports.
///
/// It comes from ``Discovery``, which has checked that the document names the requested issuer. For a server without
/// discovery, create it by hand, and set it as ``ClientConfiguration/provider``. ID tokens need the endpoint `.keys` too:
///
/// ```swift
/// let provider = try ProviderMetadata(
///     issuer: "https://accounts.example.org",
///     endpoints: [.authorization: "https://accounts.example.org/auth", .token: "https://accounts.example.org/token"])
/// ```
public struct ProviderMetadata: Sendable, Hashable {
    /// The issuer.
    public let issuer: Issuer
    /// The whole document, including the members without a property here.
    public private(set) var document: JSON.Object
    /// The resource that named the issuer; nil if the app or the user did. See
    /// ``Discovery/metadata(for:choosing:)``.
    public package(set) var resource: SecureURL?
    /// Whether the issuer is the authorization server of a resource, as the resource has said.
    package var servesResource = false
    /// What the user has agreed to, because a resource named the issuer.
    package var agreement: SignInConfirmation?
    /// Where the document is, if not where the issuer says.
    package var location: SecureURL?
    /// Whether the document comes from the issuer itself, and not from an app.
    package var isDiscovered = false

    /// Creates metadata from a document.
    ///
    /// The members that decide about trust are checked: the issuer, the location of the keys and the signature algorithms.
    /// Any other is checked when it is needed, so that a mistake in it stops only what uses it.
    ///
    /// - Parameter document: The metadata, which names its `issuer`. Endpoints must be https (or http on loopback). With
    ///   any issuer, they may be on this machine; ``Discovery`` allows that only to an issuer on this machine.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` that names the member.
    public init(document: JSON) throws { try self.init(document, isDiscovered: false) }

    init(_ document: JSON, isDiscovered: Bool) throws {
        guard let members = document.object, let issuer = members["issuer"]?.string else {
            throw Self.invalid("expected a JSON object with 'issuer', found \(document.foundIssuer)")
        }
        do { self.issuer = try Issuer(issuer) } catch let error as AuthError { throw Self.invalid(error.message) }
        (self.document, self.isDiscovered) = (members, isDiscovered)
        _ = try url(of: .keys)
        for name in Self.algorithmLists where members[name] != nil {
            guard members[name]?.strings != nil else {
                throw Self.invalid(
                    "expected \(name.foundText) to be an array of strings, found \(members[name].foundStrings)")
            }
        }
    }

    /// Creates metadata from its parts.
    ///
    /// - Parameters:
    ///   - issuer: The issuer, exactly as in the `iss` of its ID tokens.
    ///   - endpoints: The URLs of the endpoints.
    ///   - more: Further members of RFC 8414 §2 and OpenID Connect Discovery §3 by name.
    /// - Throws: As ``init(document:)``.
    public init(issuer: Issuer, endpoints: [Endpoint: String], more: JSON.Object = .init()) throws {
        var members = more
        members["issuer"] = .string(issuer.string)
        for (endpoint, url) in endpoints { members[endpoint.rawValue] = .string(url) }
        try self.init(document: .object(members))
    }

    /// Creates metadata for a server of which only the token endpoint is known, for grants without a browser. Its
    /// origin serves as the issuer.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a URL that is not https (or http on
    ///   loopback).
    public init(tokenEndpoint: String) throws {
        let url = try SecureURL(tokenEndpoint)
        try self.init(issuer: Issuer("\(url.scheme)://\(url.authority)"), endpoints: [.token: tokenEndpoint])
    }

    /// The URL of an endpoint; nil if the provider has none, or names a URL that it may not name.
    public subscript(endpoint: Endpoint) -> SecureURL? {
        (try? url(of: endpoint)) ?? nil
    }

    /// Whether there is a value for an endpoint, even one that is no URL that the issuer may name.
    package func names(_ endpoint: Endpoint) -> Bool { document[nonEmpty: endpoint.rawValue] != nil }

    /// Returns the URL of an endpoint; nil if the provider names none.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` for a member that is no URL that it may name.
    package func url(of endpoint: Endpoint) throws -> SecureURL? { try url(endpoint.rawValue, in: document) }

    /// Returns the URL of a required endpoint.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` that names the missing member, or the one whose
    ///   URL the issuer may not name.
    public func require(_ endpoint: Endpoint) throws -> SecureURL {
        guard let url = try url(of: endpoint) else {
            throw Self.invalid(
                "the provider \(issuer) has no \(endpoint.rawValue.foundText)\(isDiscovered ? " in its metadata" : "")")
        }
        return url
    }

    /// Throws if the provider does not support PKCE with S256.
    ///
    /// RFC 7636 §4.2, RFC 9700 §2.1.1: a provider that lists its methods must list S256. There is no fallback.
    package func requirePKCE() throws {
        guard let methods = codeChallengeMethods, !methods.contains("S256") else { return }
        throw Self.invalid(
            "expected the provider to support the PKCE method S256, found \(methods.joined(separator: ", ").foundText)")
    }

    /// Returns the metadata with the members of another document of the same issuer that it lacks: the endpoints, and what
    /// protects them.
    package func completed(from other: ProviderMetadata) -> ProviderMetadata {
        var metadata = self
        for member in other.document.members where document[nonEmpty: member.name] == nil {
            metadata.document[member.name] = member.value
        }
        return metadata
    }

    /// Returns the metadata with the members that a session needs later replaced by those of a newer document, if it has them:
    /// for the verification of ID tokens, and the endpoints. If only a resource has named the provider, the user has agreed to
    /// the hosts of the endpoints, and they do not move to others.
    package func renewed(by newer: ProviderMetadata) -> ProviderMetadata {
        var metadata = self
        for name in [Endpoint.keys.rawValue, "id_token_signing_alg_values_supported"] {
            if let value = newer.document[nonEmpty: name] { metadata.document[name] = value }
        }
        if resource == nil, let newer = newer.document[Self.aliases]?.object {
            metadata.document[Self.aliases] = .object(newer)
        }
        for name in document.members.map(\.name) where name.hasSuffix("_endpoint") {
            let endpoint = Endpoint(rawValue: name)
            guard let url = newer[endpoint], resource == nil || url.origin == self[endpoint]?.origin else { continue }
            metadata.document[name] = .string(url.string)
        }
        return metadata
    }

    /// Reads the URL of a member; nil if it is absent, also as an empty string. In metadata from an app, the URL may be
    /// on any host.
    func url(_ name: String, in members: JSON.Object?, as path: String = "") throws -> SecureURL? {
        guard let value = members?[nonEmpty: name] else { return nil }
        let name = path + name
        guard let text = value.string else {
            throw Self.invalid("expected \(name.foundText) to be a string, found \(value.kind)")
        }
        let url: SecureURL
        do { url = try SecureURL(text, isTyped: false) } catch let error as AuthError {
            throw Self.invalid("\(name.foundText): \(error.message)")
        }
        try allow(url, as: name)
        return url
    }

    /// Rejects a URL that the issuer may not name.
    package func allow(_ url: SecureURL, as name: String) throws {
        guard isDiscovered, let objection = url.objection(namedBy: issuer.url) else { return }
        throw Self.invalid("\(name.foundText): \(objection)")
    }

    private static func invalid(_ message: String) -> AuthError { AuthError(.invalidMetadata, .discovery, message) }

    static let aliases = "mtls_endpoint_aliases"

    /// The lists of what a signature is accepted by.
    private static let algorithmLists = [
        "id_token_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
        "authorization_signing_alg_values_supported",
    ]
}

extension ProviderMetadata {
    /// An endpoint, identified by the name of its member in the metadata. The type is open: any name can be used.
    public struct Endpoint: RawRepresentable, Hashable, Sendable {
        /// The member's name, for example `token_endpoint`.
        public let rawValue: String
        /// Creates an endpoint.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The URL that the browser opens to sign in.
        public static let authorization = Endpoint(rawValue: "authorization_endpoint")
        /// The endpoint that issues tokens for codes and refresh tokens.
        public static let token = Endpoint(rawValue: "token_endpoint")
        /// The provider's keys.
        public static let keys = Endpoint(rawValue: "jwks_uri")
        /// The user's claims.
        public static let userInfo = Endpoint(rawValue: "userinfo_endpoint")
        /// Revocation (RFC 7009).
        public static let revocation = Endpoint(rawValue: "revocation_endpoint")
        /// Introspection (RFC 7662).
        public static let introspection = Endpoint(rawValue: "introspection_endpoint")
        /// Dynamic registration (RFC 7591).
        public static let registration = Endpoint(rawValue: "registration_endpoint")
        /// The URL that the browser opens to sign out (OpenID Connect RP-Initiated Logout §2.1).
        public static let endSession = Endpoint(rawValue: "end_session_endpoint")
        /// Device authorization (RFC 8628).
        public static let deviceAuthorization = Endpoint(rawValue: "device_authorization_endpoint")
        /// Pushed authorization requests (RFC 9126).
        public static let pushedAuthorizationRequest = Endpoint(rawValue: "pushed_authorization_request_endpoint")
        /// Backchannel authentication (CIBA Core §7).
        public static let backchannelAuthentication = Endpoint(
            rawValue: "backchannel_authentication_endpoint")
    }

    /// The signature algorithms of ID tokens; RS256 if not listed (OpenID Connect Core §15.1).
    public var idTokenSigningAlgorithms: [String] { list("id_token_signing_alg_values_supported") ?? ["RS256"] }

    /// The signature algorithms of userinfo responses; nil if not listed.
    public var userInfoSigningAlgorithms: [String]? { list("userinfo_signing_alg_values_supported") }

    /// The signature algorithms of authorization responses (JARM §4); nil if not listed.
    public var authorizationSigningAlgorithms: [String]? {
        document["authorization_signing_alg_values_supported"]?.strings
    }

    /// The client authentication methods of the token endpoint; nil if not listed.
    public var tokenEndpointAuthMethods: [String]? { list("token_endpoint_auth_methods_supported") }

    /// The algorithms of signed client authentication at the token endpoint; nil if not listed.
    public var tokenEndpointAuthSigningAlgorithms: [String]? {
        list("token_endpoint_auth_signing_alg_values_supported")
    }

    /// The supported PKCE methods; nil if not listed.
    public var codeChallengeMethods: [String]? { list("code_challenge_methods_supported") }

    /// The supported response modes; nil if not listed.
    public var responseModes: [String]? { list("response_modes_supported") }

    /// The supported scopes; nil if not listed. OpenID Connect Discovery §3: the list has at least `openid`, so an empty one
    /// says nothing.
    public var scopes: [String]? { list("scopes_supported").flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether every authorization response has an `iss` (RFC 9207 §3).
    public var authorizationResponseIssParameterSupported: Bool {
        document["authorization_response_iss_parameter_supported"]?.bool ?? false
    }

    /// Whether the provider accepts only pushed authorization requests (RFC 9126 §5).
    public var requiresPushedAuthorizationRequests: Bool {
        document["require_pushed_authorization_requests"]?.bool ?? false
    }

    /// Whether the URL of a client's metadata document can be its client ID; see ``ClientMetadata/document(at:)``.
    public var supportsClientIDMetadataDocuments: Bool {
        document["client_id_metadata_document_supported"]?.bool ?? false
    }

    /// Returns a list; nil also for a value that is none, as if it were missing.
    private func list(_ name: String) -> [String]? { document[name]?.strings }
}

extension ProviderMetadata: Codable {
    /// Decodes and checks a document, as metadata from an app: ``resource`` is nil.
    public init(from decoder: any Decoder) throws { try self.init(document: JSON(from: decoder)) }

    /// Encodes the document.
    public func encode(to encoder: any Encoder) throws { try JSON.object(document).encode(to: encoder) }
}

extension JSON {
    /// The type of the value found as the issuer, for messages.
    var foundIssuer: String { object.map { $0["issuer"].foundKind } ?? kind }
}
