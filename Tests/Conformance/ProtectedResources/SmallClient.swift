import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import ScriptedBrowser

/// In what a client is wrong.
enum Flaw: String, Sendable, CaseIterable {
    // Where it looks for metadata, and what it believes.
    case asksOriginBeforePath, ignoresMetadataLocation, readsOAuthMetadataOnly, asksOriginOfIssuer
    case ignoresResourceMismatch, ignoresIssuerOfMetadata
    // Who it is.
    case registersDespiteDocument, reusesClient, registersWithoutRefresh, namesNoApplicationType
    // What it asks for.
    case ignoresDemandedScope, requestsOneScope, requestsDefaultScope, dropsGrantedScope, retriesWithoutLimit
    case requestsNoOfflineAccess, alwaysRequestsOfflineAccess
    case omitsResourceAtAuthorization, omitsResourceAtToken, requestsOtherResource
    // How it proves itself.
    case postsSecret, sendsSecretInHeader, registersForSecret, sendsNoChallenge, sendsPlainChallenge, sendsOtherVerifier
    case namesTokenEndpointAsAudience, presentsAsBearer, repeatsProof, sendsNoProofForToken, ignoresNonceOfServer,
        ignoresNonceOfResource
    case requestsNoTokenType, namesNoAudience
    case repeatsRefusedAssertion, fallsBackToOtherGrant, sendsExpiredAssertion, sendsAssertionAsCredential
    // Which responses it accepts (RFC 9207).
    case refusesIssuer, requiresIssuer, toleratesMissingIssuer, ignoresIssuer, ignoresUnannouncedIssuer,
        normalizesIssuer
}

/// A client of protected resources that does what it must, or all but one thing. It shares no rule with the library.
final class SmallClient {
    struct Credentials {
        let id: String
        var secret: String?
        var method = "none"
    }

    struct Stopped: Error { let reason: String }

    private let flaw: Flaw?
    /// A client that is registered already, or whose document is published.
    private let given: Credentials?
    private var registered: [String: Credentials] = [:]
    private var token: String?
    private var granted: [String] = []
    private var key: SigningKey?
    private var proof: String?
    private var nonces: [String: String] = [:]
    private let transport = CurlTransport(.init(proxy: .none))
    private static let redirectURI = "http://127.0.0.1:9/callback"

    init(_ flaw: Flaw?, as given: Credentials? = nil) { (self.flaw, self.given) = (flaw, given) }

    /// Calls the resource, and signs in for it if it must.
    func use(_ url: String) async throws {
        var response = try await call(url)
        if response.status == .unauthorized {
            try await signIn(for: url, demanded: response, adding: [])
            response = try await call(url)
        }
        for _ in 0..<(flaw == .retriesWithoutLimit ? 4 : 1) where response.status == .forbidden {
            let demanded = response.challenge?.parameters["scope"]?.words ?? []
            guard flaw == .retriesWithoutLimit || !Set(demanded).isSubset(of: granted) else { return }
            try await signIn(for: url, demanded: response, adding: flaw == .dropsGrantedScope ? [] : granted)
            response = try await call(url)
        }
    }

    /// Gets a token for itself (RFC 6749 §4.4), with the secret or with a key (RFC 7523 §2.2).
    func getOwnToken(at provider: LocalProvider, for resource: String, key: SigningKey? = nil) async throws {
        guard let given else { throw Stopped(reason: "no client") }
        var form: [String: String?] = ["grant_type": "client_credentials", "scope": "api", "resource": resource]
        let url = provider.url(.token)
        guard let key else {
            _ = try await post(authenticating(form, given), to: url, basic(given))
            return
        }
        let audience = flaw == .namesTokenEndpointAsAudience ? url : provider.issuer
        let now = Int(Date().timeIntervalSince1970)
        let claims: JSON = [
            "iss": .string(given.id), "sub": .string(given.id), "aud": .string(audience),
            "jti": .string(UUID().uuidString), "iat": .number(.init(now)), "exp": .number(.init(now + 60)),
        ]
        form["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        form["client_assertion"] = try JWS.sign(claims, with: key)
        _ = try await post(form, to: url, nil)
    }

    /// Gets a token with what an identity provider says about the user (draft-ietf-oauth-identity-assertion-authz-grant §4).
    func getToken(
        for resource: String, at server: LocalProvider, by idToken: String, of provider: LocalProvider,
        as client: Credentials
    ) async throws {
        guard let given else { throw Stopped(reason: "no client") }
        let form: [String: String?] = [
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": idToken,
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "resource": resource,
            "requested_token_type": flaw == .requestsNoTokenType ? nil : "urn:ietf:params:oauth:token-type:id-jag",
            "audience": flaw == .namesNoAudience ? nil : server.issuer,
        ]
        let response = try await post(authenticating(form, client), to: provider.url(.token), basic(client))
        guard let assertion = response.json?["access_token"]?.string else { throw Stopped(reason: "no assertion") }
        let grant: [String: String?] = [
            "grant_type": Self.jwtBearer, "assertion": assertion, "resource": resource, "scope": "api",
        ]
        _ = try await post(authenticating(grant, given), to: server.url(.token), basic(given))
    }

    /// Gets a token with the assertion of a workload (RFC 7523 §2.1).
    func getToken(for resource: String, at server: LocalProvider, by assertion: String, isExpired: Bool) async throws {
        if isExpired, flaw != .sendsExpiredAssertion { throw Stopped(reason: "the assertion has expired") }
        let url = server.url(.token)
        var form: [String: String?] = [
            "grant_type": Self.jwtBearer, "assertion": assertion, "client_id": given?.id, "scope": "api",
            "resource": resource,
        ]
        if flaw == .sendsAssertionAsCredential {
            (form["grant_type"], form["client_assertion"], form["assertion"]) = ("client_credentials", assertion, nil)
            form["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
        }
        guard try await post(form, to: url, nil).status != .ok else { return }
        if flaw == .fallsBackToOtherGrant { form["grant_type"] = "client_credentials" }
        if flaw == .fallsBackToOtherGrant || flaw == .repeatsRefusedAssertion { _ = try await post(form, to: url, nil) }
    }

    private static let jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    // MARK: Requests

    private func call(_ url: String) async throws -> TransportResponse {
        var request = HTTPRequest(method: .get, url: try SecureURL(url))
        guard let token else { return try await transport.send(TransportRequest(request)) }
        guard key != nil else {
            request.headerFields[.authorization] = "Bearer \(token)"
            return try await transport.send(TransportRequest(request))
        }
        request.headerFields[.authorization] = (flaw == .presentsAsBearer ? "Bearer " : "DPoP ") + token
        return try await proving(request, to: url, retries: flaw != .ignoresNonceOfResource)
    }

    private func post(_ form: [String: String?], to url: String, _ authorization: String?) async throws
        -> TransportResponse
    {
        var request = HTTPRequest(method: .post, url: try SecureURL(url))
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        request.headerFields[.authorization] = authorization
        var parameters = FormParameters()
        for (name, value) in form { parameters.append(name, value) }
        let body = Array(parameters.encoded.utf8)
        guard key != nil, flaw != .sendsNoProofForToken else {
            return try await transport.send(TransportRequest(request, body: body))
        }
        return try await proving(request, body, to: url, retries: flaw != .ignoresNonceOfServer)
    }

    /// RFC 9449 §4.2, §8, §9.
    private func proving(
        _ request: HTTPRequest, _ body: [UInt8]? = nil, to url: String, retries: Bool
    ) async throws -> TransportResponse {
        for attempt in 0...1 {
            var (request, claims) = (request, JSON.Object())
            claims["jti"] = .string(UUID().uuidString)
            claims["htm"] = .string(request.method.rawValue)
            claims["htu"] = .string(url)
            claims["iat"] = .number(.init(Int(Date().timeIntervalSince1970)))
            claims["nonce"] = nonces[url].map(JSON.string)
            if body == nil, let token { claims["ath"] = .string(Base64URL.encode(Digest.sha256.hash(token))) }
            let key = try self.key ?? SigningKey.generate(.es256)
            let header: JSON.Object = ["typ": "dpop+jwt", "jwk": key.publicKey.json]
            if flaw != .repeatsProof || body != nil || proof == nil {
                proof = try JWS.sign(.object(claims), header: header, with: key)
            }
            request.headerFields[HTTPField.Name("DPoP")!] = proof
            let response = try await transport.send(TransportRequest(request, body: body))
            if retries { nonces[url] = response.headerFields[HTTPField.Name("DPoP-Nonce")!] ?? nonces[url] }
            let isAsked =
                response.challenge?.parameters["error"] == "use_dpop_nonce"
                || response.json?["error"] == "use_dpop_nonce"
            guard attempt == 0, isAsked, retries else { return response }
        }
        throw Stopped(reason: "no nonce is accepted")
    }

    // MARK: Metadata

    private func resource(_ url: String, _ response: TransportResponse) async throws -> JSON {
        let (origin, path) = try url.parts
        let wellKnown = origin + "/.well-known/oauth-protected-resource"
        var locations = [wellKnown + path, wellKnown]
        if let named = response.challenge?.parameters["resource_metadata"], flaw != .ignoresMetadataLocation {
            locations.insert(named, at: 0)
        }
        if flaw == .asksOriginBeforePath { locations.insert(wellKnown, at: 0) }
        let found = try await first(of: locations)
        guard let name = found["resource"]?.string, url == name || url.hasPrefix(name + "/"),
            flaw != .ignoresResourceMismatch
        else {
            if flaw == .ignoresResourceMismatch { return found }
            throw Stopped(reason: "metadata of another resource")
        }
        return found
    }

    private func server(_ issuer: String) async throws -> JSON {
        let (origin, path) = try issuer.parts
        var locations = [origin + "/.well-known/oauth-authorization-server" + path]
        if flaw != .readsOAuthMetadataOnly { locations.append(issuer + "/.well-known/openid-configuration") }
        if flaw == .asksOriginOfIssuer { locations.insert(origin + "/.well-known/oauth-authorization-server", at: 0) }
        let found = try await first(of: locations)
        guard found["issuer"]?.string == issuer || flaw == .ignoresIssuerOfMetadata else {
            throw Stopped(reason: "metadata of another issuer")
        }
        return found
    }

    private func first(of locations: [String]) async throws -> JSON {
        for location in locations {
            let request = HTTPRequest(method: .get, url: try SecureURL(location))
            let response = try await transport.send(TransportRequest(request))
            if response.status == .ok, let json = response.json { return json }
        }
        throw Stopped(reason: "no metadata at \(locations)")
    }

    // MARK: Signing in

    private func client(at server: JSON) async throws -> Credentials {
        if flaw == .reusesClient, let known = registered.values.first { return known }
        let acceptsDocuments = server["client_id_metadata_document_supported"] == true
        if let given, !given.id.hasPrefix("https:") || acceptsDocuments, flaw != .registersDespiteDocument {
            return given
        }
        let issuer = server["issuer"]?.string ?? ""
        if let known = registered[issuer] { return known }
        guard let endpoint = server["registration_endpoint"]?.string else { throw Stopped(reason: "no registration") }
        let methods = server["token_endpoint_auth_methods_supported"]?.strings ?? ["none"]
        let method =
            flaw == .registersForSecret ? "client_secret_basic" : methods.contains("none") ? "none" : methods[0]
        var metadata: JSON.Object = [
            "redirect_uris": [.string(Self.redirectURI)], "token_endpoint_auth_method": .string(method),
            "grant_types": flaw == .registersWithoutRefresh
                ? ["authorization_code"] : ["authorization_code", "refresh_token"],
        ]
        if flaw != .namesNoApplicationType { metadata["application_type"] = "native" }
        var request = HTTPRequest(method: .post, url: try SecureURL(endpoint))
        request.headerFields[.contentType] = "application/json"
        let body = Array(JSON.object(metadata).serialized().utf8)
        let response = try await transport.send(TransportRequest(request, body: body))
        guard let id = response.json?["client_id"]?.string else { throw Stopped(reason: "not registered") }
        let client = Credentials(id: id, secret: response.json?["client_secret"]?.string, method: method)
        registered[issuer] = client
        return client
    }

    private func scope(_ resource: JSON, _ server: JSON, _ response: TransportResponse) -> [String] {
        let demanded = flaw == .ignoresDemandedScope ? nil : response.challenge?.parameters["scope"]?.words
        var scope = demanded ?? resource["scopes_supported"]?.strings ?? []
        if flaw == .requestsOneScope { scope = Array(scope.prefix(1)) }
        if flaw == .requestsDefaultScope { scope = ["profile"] }
        let isSupported = server["scopes_supported"]?.strings?.contains("offline_access") == true
        if !scope.isEmpty && isSupported && flaw != .requestsNoOfflineAccess || flaw == .alwaysRequestsOfflineAccess {
            scope.append("offline_access")
        }
        return scope
    }

    private func signIn(for url: String, demanded: TransportResponse, adding former: [String]) async throws {
        let resource = try await resource(url, demanded)
        guard let issuer = resource["authorization_servers"]?.strings?.first else { throw Stopped(reason: "no server") }
        let server = try await server(issuer)
        if resource["dpop_bound_access_tokens_required"] == true { key = try key ?? SigningKey.generate(.es256) }
        let client = try await client(at: server)
        let scope = scope(resource, server, demanded)
        let requested = scope + former.filter { !scope.contains($0) }
        let name = resource["resource"]?.string ?? url

        let (state, verifier) = (UUID().uuidString, UUID().uuidString + UUID().uuidString)
        let challenge = flaw == .sendsPlainChallenge ? verifier : Base64URL.encode(Digest.sha256.hash(verifier))
        var query = FormParameters()
        query.append("response_type", "code")
        query.append("client_id", client.id)
        query.append("redirect_uri", Self.redirectURI)
        query.append("state", state)
        query.append("scope", requested.isEmpty ? nil : requested.joined(separator: " "))
        query.append("code_challenge", flaw == .sendsNoChallenge ? nil : challenge)
        query.append("code_challenge_method", flaw == .sendsPlainChallenge ? "plain" : "S256")
        query.append("resource", flaw == .omitsResourceAtAuthorization ? nil : name)
        let response = try await authorize(server, query)
        guard response.values("state") == [state], let code = response.values("code").first,
            accepts(response.values("iss").first, of: server, as: issuer)
        else { throw Stopped(reason: "the authorization response is refused") }

        let form: [String: String?] = [
            "grant_type": "authorization_code", "code": code, "redirect_uri": Self.redirectURI, "client_id": client.id,
            "code_verifier": flaw == .sendsOtherVerifier ? verifier + "x" : verifier,
            "resource": flaw == .omitsResourceAtToken ? nil : flaw == .requestsOtherResource ? name + "#x" : name,
        ]
        let endpoint = server["token_endpoint"]?.string ?? ""
        let tokens = try await post(authenticating(form, client), to: endpoint, basic(client)).json
        guard let token = tokens?["access_token"]?.string else { throw Stopped(reason: "no token: \(tokens ?? "")") }
        (self.token, granted) = (token, tokens?["scope"]?.string?.words ?? requested)
    }

    // RFC 6749 §2.3.1.

    private func isPosted(_ client: Credentials) -> Bool {
        flaw == .postsSecret || client.method == "client_secret_post" && flaw != .sendsSecretInHeader
    }

    private func authenticating(_ form: [String: String?], _ client: Credentials) -> [String: String?] {
        guard let secret = client.secret, isPosted(client) else { return form }
        return form.merging(["client_id": client.id, "client_secret": secret]) { $1 }
    }

    private func basic(_ client: Credentials) -> String? {
        guard let secret = client.secret, !isPosted(client) else { return nil }
        let words = [client.id, secret].map(FormParameters.encode).joined(separator: ":")
        return "Basic " + Data(words.utf8).base64EncodedString()
    }

    private func authorize(_ server: JSON, _ query: FormParameters) async throws -> FormParameters {
        let browser = ScriptedBrowser(
            transport: transport, entries: ["username": "alice", "password": "looking-glass"])
        let url = (server["authorization_endpoint"]?.string ?? "") + "?" + query.encoded
        let address = try await browser.address(from: url, upTo: Self.redirectURI)
        return FormParameters(decoding: address.split(separator: "?").last ?? "") ?? FormParameters()
    }

    /// RFC 9207 §2.4.
    private func accepts(_ found: String?, of server: JSON, as issuer: String) -> Bool {
        let isAnnounced = server["authorization_response_iss_parameter_supported"] == true
        guard let found else { return !isAnnounced && flaw != .requiresIssuer || flaw == .toleratesMissingIssuer }
        switch flaw {
        case .refusesIssuer: return false
        case .ignoresIssuer: return true
        case .ignoresUnannouncedIssuer: return !isAnnounced || found == issuer
        case .normalizesIssuer: return found == issuer || found == issuer + "/"
        default: return found == issuer
        }
    }
}

extension TransportResponse {
    fileprivate var json: JSON? { try? JSON(parsing: body) }

    fileprivate var challenge: Challenge? {
        headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges).first { !$0.parameters.isEmpty }
    }
}

extension String {
    fileprivate var words: [String] { split(separator: " ").map(String.init) }

    /// The origin and the path of a URL; the path of the origin is empty.
    fileprivate var parts: (origin: String, path: String) {
        get throws {
            let url = try SecureURL(self)
            return ("\(url.scheme)://\(url.authority)", url.path == "/" ? "" : url.path)
        }
    }
}
