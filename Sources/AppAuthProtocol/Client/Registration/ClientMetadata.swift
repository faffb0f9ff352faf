/// A client's description of itself in a registration (RFC 7591 §2, OpenID Connect Registration §2).
///
/// The common members have properties. Set and read all others by name, which may have a language tag
/// (`client_name#de`, RFC 7591 §2.2).
///
/// ```swift
/// var metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "My App")
/// metadata.contacts = ["jane@example.org"]
/// metadata["client_name#de"] = "Meine App"
/// ```
public struct ClientMetadata: Sendable, Hashable {
    /// All members, as sent or received.
    public private(set) var members: JSON.Object

    /// Creates metadata with these members.
    public init(_ members: JSON.Object = .init()) { self.members = members }

    /// Creates the metadata of an installed app: a public client (RFC 8252 §8.5) with authorization codes and refresh
    /// tokens. After a sign-out, the browser returns to the same loopback addresses as after a sign-in (RP-Initiated
    /// Logout §3.1).
    public init(nativeAppWith redirectURIs: [String], name: String? = nil) {
        self.init()
        self.redirectURIs = redirectURIs
        clientName = name
        applicationType = "native"
        tokenEndpointAuthMethod = "none"
        grantTypes = [.authorizationCode, .refreshToken]
        responseTypes = ["code"]
        let afterLogout = redirectURIs.filter { (try? SecureURL($0))?.isLoopback == true }
        postLogoutRedirectURIs = afterLogout.isEmpty ? nil : afterLogout
    }

    /// A member by its name. Setting nil removes it.
    public subscript(name: String) -> JSON? {
        get { members[name] }
        set { members[name] = newValue }
    }

    /// The URIs to which the provider may redirect the browser.
    public var redirectURIs: [String]? {
        get { strings("redirect_uris") }
        set { self["redirect_uris"] = list(newValue) }
    }
    /// How the client authenticates at the token endpoint; `client_secret_basic` if absent (RFC 7591 §2).
    public var tokenEndpointAuthMethod: String? {
        get { string("token_endpoint_auth_method") }
        set { self["token_endpoint_auth_method"] = newValue.map(JSON.string) }
    }
    /// The grants that the client uses; only authorization codes if absent (RFC 7591 §2).
    public var grantTypes: [GrantType]? {
        get { strings("grant_types")?.map(GrantType.init(rawValue:)) }
        set { self["grant_types"] = list(newValue?.map(\.rawValue)) }
    }
    /// The response types that the client uses; `code` if absent (RFC 7591 §2).
    public var responseTypes: [String]? {
        get { strings("response_types") }
        set { self["response_types"] = list(newValue) }
    }
    /// The name shown to users.
    public var clientName: String? {
        get { string("client_name") }
        set { self["client_name"] = newValue.map(JSON.string) }
    }
    /// The scopes that the client may request.
    public var scope: [Scope]? {
        get { string("scope").map([Scope].init(received:)) }
        set { self["scope"] = newValue?.spaceDelimited.map(JSON.string) }
    }
    /// Contacts, usually email addresses.
    public var contacts: [String]? {
        get { strings("contacts") }
        set { self["contacts"] = list(newValue) }
    }
    /// The client's public keys, if they are not at a URL: see ``ClientKey/publicJWK``.
    public var jwks: [JSON]? {
        get { self["jwks"]?["keys"]?.array }
        set { self["jwks"] = newValue.map { ["keys": .array($0)] } }
    }
    /// `native` or `web`; `web` if absent (OpenID Connect Registration §2).
    public var applicationType: String? {
        get { string("application_type") }
        set { self["application_type"] = newValue.map(JSON.string) }
    }
    /// The URIs to which the provider may redirect the browser after a sign-out (RP-Initiated Logout §3.1).
    public var postLogoutRedirectURIs: [String]? {
        get { strings("post_logout_redirect_uris") }
        set { self["post_logout_redirect_uris"] = list(newValue) }
    }
    /// The URL to which the provider posts logout tokens (Back-Channel Logout §2.2).
    public var backchannelLogoutURI: String? {
        get { string("backchannel_logout_uri") }
        set { self["backchannel_logout_uri"] = newValue.map(JSON.string) }
    }
    /// The URL that the provider opens in a frame when a user signs out (Front-Channel Logout §2).
    public var frontchannelLogoutURI: String? {
        get { string("frontchannel_logout_uri") }
        set { self["frontchannel_logout_uri"] = newValue.map(JSON.string) }
    }

    private func string(_ name: String) -> String? { members[nonEmpty: name]?.string }
    private func strings(_ name: String) -> [String]? { members[name]?.strings }
    private func list(_ values: [String]?) -> JSON? { values.map { .array($0.map(JSON.string)) } }

    /// The members that are not metadata, although they are in the same object (RFC 7591 §3.2.1, RFC 7592 §3).
    static let credentials: Set<String> = [
        "client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at", "registration_access_token",
        "registration_client_uri",
    ]
}
