internal import FoundationEssentials
internal import JOSE

/// The checked metadata of a client (RFC 7591 §2, OpenID Connect Registration §2), with defaults and without unknown
/// members.
struct SubmittedMetadata {
    let registered: JSON.Object
    private let redirectURIs: [String]
    private let methods: RegisteredClient.Authentication
    private let grantTypes: [String]
    private let keys: [JWK]

    private static let texts = ["client_name", "software_id", "software_version"]
    private static let pages = ["client_uri", "logo_uri", "tos_uri", "policy_uri"]

    init(_ sent: JSON.Object, _ options: DynamicRegistration, _ context: Context) throws(OAuthFailure) {
        var members = sent
        // §2.3: the statement has precedence.
        if let statement = sent["software_statement"] {
            let claims = try SoftwareStatement(statement, options, context.now).claims
            for claim in claims.members { members[claim.name] = claim.value }
        } else if options.requiresSoftwareStatement {
            throw OAuthFailure("unapproved_software_statement", "expected a software_statement")
        }
        let reader = Reader(members: members)
        var registered = JSON.Object()
        registered["software_statement"] = sent["software_statement"]
        for member in members.members where Self.texts.contains(String(member.name.prefix { $0 != "#" })) {
            registered[member.name] = try reader.text(member.name).map(JSON.string)
        }
        for name in Self.pages { registered[name] = try reader.url(name).map(JSON.string) }
        registered["contacts"] = try reader.strings("contacts").map { .array($0.map(JSON.string)) }

        let name = try reader.text("token_endpoint_auth_method") ?? "client_secret_basic"
        guard let method = RegisteredClient.Authentication(rawValue: name) else {
            throw .clientMetadata("the token_endpoint_auth_method is not supported")
        }
        (methods, grantTypes) = (method, try reader.grantTypes(context))
        guard method != .none || !grantTypes.contains("client_credentials") else {
            throw .clientMetadata("expected a client that authenticates for client_credentials")
        }
        keys = try reader.keys(for: method)
        redirectURIs = try reader.redirectURIs(for: grantTypes)
        registered["token_endpoint_auth_method"] = .string(name)
        registered["grant_types"] = .array(grantTypes.map(JSON.string))
        registered["response_types"] = .array(try reader.responseTypes(for: grantTypes, context).map(JSON.string))
        registered["redirect_uris"] = redirectURIs.isEmpty ? nil : .array(redirectURIs.map(JSON.string))
        registered["jwks"] = keys.isEmpty ? nil : ["keys": .array(keys.map(\.json))]
        registered["application_type"] = .string(try reader.applicationType())
        for name in ["id_token_signed_response_alg", "userinfo_signed_response_alg"] {
            registered[name] = try reader.algorithm(name, context).map { .string($0.rawValue) }
        }
        for name in ["backchannel_logout_uri", "frontchannel_logout_uri"] {
            registered[name] = try reader.url(name).map(JSON.string)
        }
        registered["post_logout_redirect_uris"] = try reader.strings("post_logout_redirect_uris")
            .map { .array($0.map(JSON.string)) }
        self.registered = registered
    }

    func client(_ id: String) -> RegisteredClient {
        func algorithm(_ name: String) -> SignatureAlgorithm? {
            registered[name]?.string.flatMap(SignatureAlgorithm.init(rawValue:))
        }
        var client = RegisteredClient(
            id: id, keys: keys, name: registered["client_name"]?.string,
            redirectURIs: redirectURIs.map(RedirectURI.exact),
            // RP-Initiated Logout §3.1: only those that it has registered.
            postLogoutRedirectURIs: registered["post_logout_redirect_uris"]?.strings?.map(RedirectURI.exact) ?? [],
            grantTypes: Set(grantTypes), authentication: [methods])
        client.idTokenAlgorithm = algorithm("id_token_signed_response_alg")
        client.userInfoAlgorithm = algorithm("userinfo_signed_response_alg")
        client.backchannelLogoutURI = registered["backchannel_logout_uri"]?.string
        client.frontchannelLogoutURI = registered["frontchannel_logout_uri"]?.string
        return client
    }
}

/// A reader of members that checks the type of each.
private struct Reader {
    let members: JSON.Object

    func text(_ name: String) throws(OAuthFailure) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string, !text.isEmpty else { throw .clientMetadata("expected \(name) to be a text") }
        return text
    }

    func strings(_ name: String) throws(OAuthFailure) -> [String]? {
        guard let value = members[name] else { return nil }
        guard let strings = value.strings else { throw .clientMetadata("expected \(name) to be an array of texts") }
        return strings
    }

    /// Returns an https URL, or an http URL on this machine.
    func url(_ name: String) throws(OAuthFailure) -> String? {
        guard let text = try text(name) else { return nil }
        guard Self.isWebURL(text) else { throw .clientMetadata("expected \(name) to be an https URL") }
        return text
    }

    func algorithm(_ name: String, _ context: Context) throws(OAuthFailure) -> SignatureAlgorithm? {
        guard let text = try text(name) else { return nil }
        guard let algorithm = context.keys.algorithms.first(where: { $0.rawValue == text }) else {
            throw .clientMetadata("the \(name) is not supported")
        }
        return algorithm
    }

    func applicationType() throws(OAuthFailure) -> String {
        let type = try text("application_type") ?? "web"
        guard ["native", "web"].contains(type) else {
            throw .clientMetadata("expected the application_type native or web")
        }
        return type
    }

    /// Returns the requested grant types. They must be supported, and not the one that RFC 9700 §2.4 forbids.
    func grantTypes(_ context: Context) throws(OAuthFailure) -> [String] {
        let wanted = try strings("grant_types") ?? ["authorization_code"]
        let known = (Metadata.openID(context)["grant_types_supported"]?.strings ?? []).filter { $0 != "password" }
        guard !wanted.isEmpty, wanted.allSatisfy(known.contains) else {
            throw .clientMetadata("a grant type is not supported")
        }
        return wanted
    }

    /// Returns the response types, which must match the grant types (RFC 7591 §2.1).
    func responseTypes(for grantTypes: [String], _ context: Context) throws(OAuthFailure) -> [String] {
        let hasCodes = grantTypes.contains("authorization_code")
        let wanted = try strings("response_types") ?? (hasCodes ? ["code"] : [])
        let known = Metadata.openID(context)["response_types_supported"]?.strings ?? []
        guard wanted.allSatisfy(known.contains) else {
            throw .clientMetadata("a response type is not supported")
        }
        guard hasCodes == !wanted.isEmpty else {
            throw .clientMetadata("expected the response type code where there is the grant type authorization_code")
        }
        return wanted
    }

    func keys(for method: RegisteredClient.Authentication) throws(OAuthFailure) -> [JWK] {
        guard members["jwks"] == nil || members["jwks_uri"] == nil else {
            throw .clientMetadata("expected either jwks or jwks_uri")
        }
        var keys: [JWK] = []
        do { keys = try members["jwks"]?["keys"]?.array?.map { try JWK($0) } ?? [] } catch {
            throw .clientMetadata("expected the jwks to hold public keys that can sign")
        }
        guard method != .privateKeyJWT || !keys.isEmpty else {
            throw .clientMetadata("expected jwks for private_key_jwt; jwks_uri is not fetched")
        }
        return keys
    }

    /// Returns the redirect URIs. Each is absolute, without a fragment (RFC 6749 §3.1.2), and https, http on this
    /// machine, or of a private-use scheme (RFC 8252 §7).
    func redirectURIs(for grantTypes: [String]) throws(OAuthFailure) -> [String] {
        let uris = try strings("redirect_uris") ?? []
        guard !uris.isEmpty || !grantTypes.contains("authorization_code") else {
            throw OAuthFailure("invalid_redirect_uri", "expected redirect_uris for the grant type authorization_code")
        }
        for uri in uris {
            guard let url = URLComponents(string: uri), let scheme = url.scheme, !uri.contains("#"),
                ["http", "https"].contains(scheme) ? Self.isWebURL(uri) : scheme.contains(".")
            else {
                throw OAuthFailure(
                    "invalid_redirect_uri", "expected https, http on loopback, or a private scheme with a dot")
            }
        }
        return uris
    }

    private static func isWebURL(_ text: String) -> Bool {
        guard let url = URLComponents(string: text), let host = url.host, !host.isEmpty else { return false }
        return url.scheme == "https"
            || (url.scheme == "http" && ["127.0.0.1", "[::1]", "::1", "localhost"].contains(host))
    }
}
