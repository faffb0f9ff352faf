/// What a provider says of itself (OpenID Connect Discovery §3, RFC 8414 §2): its issuer, its endpoints and what it
/// supports.
///
/// It comes from ``Discovery``, which has checked that the document speaks for the issuer that was asked, or is made by
/// hand for a server without discovery:
///
/// ```swift
/// let provider = try ProviderMetadata(
///     issuer: "https://accounts.example.org",
///     endpoints: [.authorization: "https://accounts.example.org/auth", .token: "https://accounts.example.org/token"])
/// ```
public struct ProviderMetadata: Sendable, Hashable {
    /// The issuer.
    public let issuer: Issuer
    /// The whole document, with the members that have no property here.
    public private(set) var document: JSON.Object
    /// Whether it is what the issuer says of itself, and nothing that an app has put together.
    package var isDiscovered = false

    /// Reads a document.
    ///
    /// - Parameter document: The metadata; its `issuer` decides who it speaks for. Every endpoint in it has to be https
    ///   (or http on loopback), whether it is going to be used or not. They may be on this machine whatever the issuer,
    ///   which ``Discovery`` allows only an issuer on this machine.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` that names the member.
    public init(document: JSON) throws { try self.init(document, isDiscovered: false) }

    init(_ document: JSON, isDiscovered: Bool) throws {
        guard let members = document.object, let issuer = members["issuer"]?.string else {
            throw Self.invalid("expected a JSON object with 'issuer', found \(document.foundIssuer)")
        }
        do { self.issuer = try Issuer(issuer) } catch let error as AuthError { throw Self.invalid(error.message) }
        (self.document, self.isDiscovered) = (members, isDiscovered)
        for endpoint in Endpoint.known { _ = try url(members[endpoint.rawValue], of: endpoint.rawValue) }
        for alias in members[Self.aliases]?.object?.members ?? [] {
            _ = try url(alias.value, of: "\(Self.aliases).\(alias.name)")
        }
        for name in Self.listNames where members[name] ?? .null != .null {
            guard members[name]?.strings != nil else {
                throw Self.invalid("expected '\(name)' to be an array of strings, found \(members[name].foundStrings)")
            }
        }
    }

    /// Makes metadata by hand.
    ///
    /// - Parameters:
    ///   - issuer: The issuer, as the `iss` of its ID tokens has it.
    ///   - endpoints: The endpoints' URLs.
    ///   - more: Further members of RFC 8414 §2 and OpenID Connect Discovery §3 by name.
    /// - Throws: As ``init(document:)``.
    public init(issuer: String, endpoints: [Endpoint: String], more: JSON.Object = .init()) throws {
        var members = more
        members["issuer"] = .string(issuer)
        for (endpoint, url) in endpoints { members[endpoint.rawValue] = .string(url) }
        try self.init(document: .object(members))
    }

    /// Makes metadata for a server of which no more is known than its token endpoint, for grants without a browser.
    /// Its origin stands for the issuer.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a URL that is not https (or http on
    ///   loopback).
    public init(tokenEndpoint: String) throws {
        let url = try SecureURL(tokenEndpoint)
        try self.init(issuer: "\(url.scheme)://\(url.authority)", endpoints: [.token: tokenEndpoint])
    }

    /// The URL of an endpoint, or nil if the provider has none, or names one that it may not.
    public subscript(endpoint: Endpoint) -> SecureURL? {
        (try? url(document[endpoint.rawValue], of: endpoint.rawValue)) ?? nil
    }

    /// The URL of an endpoint that is needed.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` that names the member that is missing, or whose URL
    ///   the issuer may not name.
    public func require(_ endpoint: Endpoint) throws -> SecureURL {
        guard let url = try url(document[endpoint.rawValue], of: endpoint.rawValue) else {
            throw Self.invalid("the provider \(issuer) has no '\(endpoint.rawValue)' in its metadata")
        }
        return url
    }

    /// The metadata with an endpoint taken from a second document, where this one has none.
    package func completed(with endpoint: Endpoint, from other: ProviderMetadata) -> ProviderMetadata {
        guard self[endpoint] == nil else { return self }
        var metadata = self
        metadata.document[endpoint.rawValue] = other.document[endpoint.rawValue]
        return metadata
    }

    /// The metadata with what ID tokens are verified by taken from a newer document, as far as that says it.
    package func verifying(as newer: ProviderMetadata) -> ProviderMetadata {
        var metadata = self
        for name in [Endpoint.keys.rawValue, "id_token_signing_alg_values_supported"] {
            if let value = newer.document[name], value != .null { metadata.document[name] = value }
        }
        return metadata
    }

    /// The URL of a member; nil if there is none. What an app has put together may be anywhere.
    func url(_ value: JSON?, of name: String) throws -> SecureURL? {
        guard let value, value != .null else { return nil }
        guard let text = value.string else {
            throw Self.invalid("expected '\(name)' to be a string, found \(value.kind)")
        }
        let url: SecureURL
        do { url = try SecureURL(text) } catch let error as AuthError {
            throw Self.invalid("'\(name)': \(error.message)")
        }
        try allow(url, as: name)
        return url
    }

    /// Refuses a URL that the issuer may not name.
    package func allow(_ url: SecureURL, as name: String) throws {
        guard isDiscovered, let objection = url.objection(namedBy: issuer.url) else { return }
        throw Self.invalid("'\(name)': \(objection)")
    }

    private static func invalid(_ message: String) -> AuthError { AuthError(.invalidMetadata, .discovery, message) }

    static let aliases = "mtls_endpoint_aliases"

    private static let listNames = [
        "id_token_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
        "token_endpoint_auth_methods_supported", "token_endpoint_auth_signing_alg_values_supported",
        "code_challenge_methods_supported", "scopes_supported",
        "response_types_supported",
    ]
}

extension ProviderMetadata {
    /// An endpoint, by the name of its member in the metadata. Open: any name can be made.
    public struct Endpoint: RawRepresentable, Hashable, Sendable {
        /// The member's name, for example `token_endpoint`.
        public let rawValue: String
        /// Names an endpoint.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Where the browser goes to sign in.
        public static let authorization = Endpoint(rawValue: "authorization_endpoint")
        /// Where codes and refresh tokens are exchanged.
        public static let token = Endpoint(rawValue: "token_endpoint")
        /// The provider's keys.
        public static let keys = Endpoint(rawValue: "jwks_uri")
        /// The claims of the person.
        public static let userInfo = Endpoint(rawValue: "userinfo_endpoint")
        /// Revocation (RFC 7009).
        public static let revocation = Endpoint(rawValue: "revocation_endpoint")
        /// Introspection (RFC 7662).
        public static let introspection = Endpoint(rawValue: "introspection_endpoint")
        /// Dynamic registration (RFC 7591).
        public static let registration = Endpoint(rawValue: "registration_endpoint")
        /// Where the browser goes to sign out (OpenID Connect RP-Initiated Logout §2.1).
        public static let endSession = Endpoint(rawValue: "end_session_endpoint")
        /// Device authorization (RFC 8628).
        public static let deviceAuthorization = Endpoint(rawValue: "device_authorization_endpoint")
        /// Pushed authorization requests (RFC 9126).
        public static let pushedAuthorizationRequest = Endpoint(rawValue: "pushed_authorization_request_endpoint")
        /// Backchannel authentication (CIBA Core §7).
        public static let backchannelAuthentication = Endpoint(
            rawValue: "backchannel_authentication_endpoint")

        static let known: [Endpoint] = [
            .authorization, .token, .keys, .userInfo, .revocation, .introspection, .registration, .endSession,
            .deviceAuthorization, .pushedAuthorizationRequest, .backchannelAuthentication,
        ]
    }

    /// The algorithms of its ID tokens; RS256 where it says nothing (OpenID Connect Core §15.1).
    public var idTokenSigningAlgorithms: [String] { list("id_token_signing_alg_values_supported") ?? ["RS256"] }

    /// The algorithms of its signed userinfo responses; nil where it says nothing.
    public var userInfoSigningAlgorithms: [String]? { list("userinfo_signing_alg_values_supported") }

    /// The algorithms of its signed authorization responses (JARM §4); nil where it says nothing.
    public var authorizationSigningAlgorithms: [String]? {
        document["authorization_signing_alg_values_supported"]?.strings
    }

    /// The client authentication methods of its token endpoint; nil where it says nothing.
    public var tokenEndpointAuthMethods: [String]? { list("token_endpoint_auth_methods_supported") }

    /// The algorithms of signed client authentication at its token endpoint; nil where it says nothing.
    public var tokenEndpointAuthSigningAlgorithms: [String]? {
        list("token_endpoint_auth_signing_alg_values_supported")
    }

    /// The PKCE methods that it knows; nil where it says nothing.
    public var codeChallengeMethods: [String]? { list("code_challenge_methods_supported") }

    /// How it can send an authorization response; nil where it says nothing.
    public var responseModes: [String]? { list("response_modes_supported") }

    /// The scopes that it names; nil where it says nothing.
    public var scopes: [String]? { list("scopes_supported") }

    /// The scopes to ask for: those that an app names, or `openid`, `profile` and `offline_access` as far as the provider
    /// lists them. Some providers answer an unknown scope with an error page of their own.
    ///
    /// OpenID Connect Discovery §3: every server supports `openid`, and one without a list may support any.
    package func scope(_ named: [Scope]?, leavingOut tell: ([Scope]) -> Void) -> [Scope] {
        if let named { return named }
        let isListed = { (value: Scope) in value == .openID || scopes?.contains(value.rawValue) ?? true }
        let standard: [Scope] = [.openID, .profile, .offlineAccess]
        let leftOut = standard.filter { !isListed($0) }
        if !leftOut.isEmpty { tell(leftOut) }
        return standard.filter(isListed)
    }

    /// Whether it promises an `iss` in every authorization response (RFC 9207 §3).
    public var authorizationResponseIssParameterSupported: Bool {
        document["authorization_response_iss_parameter_supported"]?.bool ?? false
    }

    /// Whether it takes pushed authorization requests alone (RFC 9126 §5).
    public var requiresPushedAuthorizationRequests: Bool {
        document["require_pushed_authorization_requests"]?.bool ?? false
    }

    private func list(_ name: String) -> [String]? { document[name]?.strings }
}

extension ProviderMetadata: Codable {
    /// Reads and checks a document, as one that an app has put together.
    public init(from decoder: any Decoder) throws { try self.init(document: JSON(from: decoder)) }

    /// Writes the document.
    public func encode(to encoder: any Encoder) throws { try JSON.object(document).encode(to: encoder) }
}

extension JSON {
    /// What stands where metadata has its issuer.
    var foundIssuer: String { object.map { $0["issuer"].foundKind } ?? kind }
}
