import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// The spellings of an absent member, in the documents of a provider: missing, `null`, and an empty string where that
/// means nothing. Any other value of the wrong type is an error.
struct AbsentMemberTests {
    private static let spellings: [JSON?] = [nil, .null, ""]

    private func response(_ members: JSON.Object, status: HTTPResponse.Status = .ok) -> TransportResponse {
        TransportResponse(
            HTTPResponse(status: status, headerFields: [.contentType: "application/json"]),
            body: Array(JSON.object(members).serialized().utf8))
    }

    // RFC 6749 §5.1. `refresh_in` is only advice, so that nothing in it is an error.
    private static let tokens: JSON.Object = [
        "access_token": "a", "token_type": "Bearer", "refresh_token": "r", "id_token": "i", "scope": "s",
        "expires_in": 5, "refresh_in": 4, "authorization_details": [["type": "t"]],
    ]

    private func tokens(_ name: String, _ value: JSON?) throws -> TokenResponse {
        var members = Self.tokens
        members[name] = value
        return try TokenResponse(
            response(members), received: Timestamp(wall: Signer.now), stage: .token)
    }

    private static let optional: [(String, @Sendable (TokenResponse) -> Bool)] = [
        ("refresh_token", { $0.refreshToken == nil }), ("id_token", { $0.idToken == nil }),
        ("scope", { $0.scope == nil }), ("expires_in", { $0.lifetime == nil }),
        ("refresh_in", { $0.refreshIn == nil }),
    ]

    @Test(arguments: optional.indices, spellings)
    func `a member of a token response that is absent in any spelling is absent`(index: Int, spelling: JSON?) throws {
        let (name, isAbsent) = Self.optional[index]
        let changed = try tokens(name, spelling)
        for (other, isAbsent) in Self.optional { #expect(isAbsent(changed) == (other == name), "\(other)") }
        #expect(name == "refresh_in" || refusal { try tokens(name, [1]) } != nil)
        #expect(try !isAbsent(tokens(name, Self.tokens[name])))
    }

    @Test(
        arguments: [(nil, nil), (.null, nil), ("", "array"), ([:], "array"), (["t"], "object")] as [(JSON?, String?)])
    func `a permission in detail is absent as null, and an empty string is no list of them`(
        value: JSON?, message: String?
    ) throws {
        let error = refusal { try tokens("authorization_details", value) }
        #expect((error == nil) == (message == nil) && message.map { error?.message.contains($0) == true } != false)
    }

    @Test func `a scope of spaces is absent`() throws {
        #expect(try tokens("scope", "  ").scope == nil)
        #expect(try tokens("scope", " a ").scope == ["a"])
    }

    @Test(arguments: spellings)
    func `the access token is missed in any spelling`(spelling: JSON?) {
        let error = refusal { try tokens("access_token", spelling) }
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("'access_token'") == true)
        #expect(error?.rotatedRefreshToken == Secret("r"))
    }

    @Test func `an authorization detail is read without its null members`() throws {
        let detail = try AuthorizationDetail(["type": "t", "locations": nil, "identifier": nil, "x": nil])
        #expect(detail.locations.isEmpty && detail.identifier == nil && detail.others.names == ["x"])
        #expect(detail.json == ["type": "t", "x": nil])
        #expect(refusal { try AuthorizationDetail(["type": nil]) } != nil)
        #expect(refusal { try AuthorizationDetail(["type": "t", "locations": ""]) } != nil)
    }

    // RFC 8628 §3.2
    @Test(arguments: spellings)
    func `a device authorization is read without what is absent`(spelling: JSON?) throws {
        let provider = try ProviderMetadata(
            issuer: Issuer(Signer.issuer), endpoints: [.deviceAuthorization: Signer.issuer + "/device"])
        let request = try DeviceAuthorizationRequest(client: Client(id: "c", provider: provider))
        func authorization(_ change: (inout JSON.Object) -> Void) throws -> DeviceAuthorization {
            var members: JSON.Object = [
                "device_code": "d", "user_code": "u", "verification_uri": "https://a.example/",
                "verification_uri_complete": "https://a.example/?u", "expires_in": 60, "interval": 7,
            ]
            change(&members)
            return try DeviceAuthorization(response(members), to: request, received: Timestamp(wall: Signer.now))
        }
        #expect(try authorization { _ in }.verificationURIComplete != nil)
        let changed = try authorization { ($0["verification_uri_complete"], $0["interval"]) = (spelling, spelling) }
        #expect(changed.verificationURIComplete == nil && changed.interval == .seconds(5))
        let draft = try authorization {
            ($0["verification_uri"], $0["verification_url"]) = (spelling, "https://b.example/")
        }
        #expect(draft.verificationURI.string == "https://b.example/")
        for name in ["device_code", "user_code", "verification_uri", "expires_in"] {
            let error = refusal { try authorization { $0[name] = spelling } }
            #expect(error?.message.contains("expected '\(name)', found none") == true, "\(error as Any)")
        }
    }

    // OpenID Connect Discovery §3, RFC 8414 §2, RFC 8705 §5
    @Test(
        arguments: [
            "authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "revocation_endpoint",
            "introspection_endpoint", "registration_endpoint", "end_session_endpoint", "device_authorization_endpoint",
            "pushed_authorization_request_endpoint", "backchannel_authentication_endpoint", "any_endpoint",
        ], spellings)
    func `a provider whose endpoint is absent in any spelling has none`(name: String, spelling: JSON?) throws {
        let endpoint = ProviderMetadata.Endpoint(rawValue: name)
        func provider(_ value: JSON?) throws -> ProviderMetadata {
            var members: JSON.Object = ["issuer": "https://op.example"]
            members[name] = value
            return try ProviderMetadata(document: .object(members))
        }
        let metadata = try provider(spelling)
        #expect(metadata[endpoint] == nil)
        #expect(refusal { try metadata.require(endpoint) }?.message.contains("has no '\(name)'") == true)
        #expect(try provider("https://op.example/x")[endpoint] != nil)
        for wrong in [1, " ", "x", []] as [JSON] { #expect((try? provider(wrong))?[endpoint] == nil, "\(wrong)") }
        let mistaken = refusal { try provider(" ").require(endpoint) }
        #expect(mistaken?.message.contains("'\(name)'") == true)

        let aliased = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [endpoint: "https://op.example/x"],
            more: ["mtls_endpoint_aliases": .object([name: spelling ?? .null])])
        #expect(aliased.mutualTLSAlias(of: endpoint) == nil)
        let client = Client(id: "c", authentication: .tlsClientAuth, provider: aliased)
        #expect(try client.require(endpoint).string == "https://op.example/x")
    }

    @Test(arguments: spellings) func `metadata without an issuer are none`(spelling: JSON?) {
        var members = JSON.Object()
        members["issuer"] = spelling
        #expect(refusal { try ProviderMetadata(document: .object(members)) }?.code != nil)
        members["issuer"] = "https://op.example"
        #expect(refusal { try ProviderMetadata(document: .object(members)) } == nil)
    }

    /// A document that has lost the location of the keys does not take away the known one.
    @Test(arguments: spellings) func `newer metadata replace only what they have`(spelling: JSON?) throws {
        let known = try ProviderMetadata(issuer: "https://op.example", endpoints: [.keys: "https://op.example/1"])
        var newer: JSON.Object = ["issuer": "https://op.example"]
        newer["jwks_uri"] = spelling
        #expect(try known.renewed(by: ProviderMetadata(document: .object(newer)))[.keys]?.path == "/1")
        newer["jwks_uri"] = "https://op.example/2"
        #expect(try known.renewed(by: ProviderMetadata(document: .object(newer)))[.keys]?.path == "/2")
    }

    // RFC 7591 §3.2.1, RFC 7592 §3
    @Test(arguments: spellings)
    func `a registration is read without what is absent`(spelling: JSON?) throws {
        var members: JSON.Object = ["client_id": "c"]
        let names = [
            "client_secret", "client_secret_expires_at", "client_id_issued_at", "registration_access_token",
            "registration_client_uri", "client_name", "id_token_signed_response_alg",
        ]
        for name in names { members[name] = spelling }
        members["token_endpoint_auth_method"] = "none"
        let registration = try ClientRegistration(document: .object(members))
        #expect(registration.clientSecret == nil && registration.clientSecretExpiresAt == nil)
        #expect(registration.accessToken == nil && registration.configurationEndpoint == nil)
        #expect(registration.clientIDIssuedAt == nil && registration.metadata.clientName == nil)
        // RFC 7591 §2: the default method has a secret.
        (members["token_endpoint_auth_method"], members["client_secret"]) = (spelling, "secret")
        let provider = try Signer.provider(["ES256"])
        let client = try ClientRegistration(document: .object(members)).client(at: provider)
        #expect(client.authentication == .clientSecretBasic(Secret("secret")))
        // Without a registered algorithm, those of the provider count.
        let signer = try Signer()
        let claims = try signer.token { $0["aud"] = "c" }
        var verifier = IDTokenVerifier(client: client)
        verifier.now = { Timestamp(wall: Signer.now) }
        _ = try verifier.verify(claims, keys: signer.keys, expecting: .usual)
        members["client_id"] = spelling
        #expect(refusal { try ClientRegistration(document: .object(members)) }?.message.contains("'client_id'") == true)
    }

    // RFC 6749 §5.2
    @Test(arguments: spellings) func `an error is read without what is absent`(spelling: JSON?) throws {
        func error(_ members: JSON.Object) throws -> AuthError {
            try response(members, status: .badRequest).oauthError(
                from: SecureURL("https://op.example/t"), stage: .token)
        }
        var members: JSON.Object = ["error": "invalid_grant"]
        (members["error_description"], members["error_uri"]) = (spelling, spelling)
        let server = try #require(try error(members).server)
        #expect(server == OAuthError(error: "invalid_grant") && server.summary == "invalid_grant")
        members["error_description"] = "why"
        #expect(try error(members).server?.summary == "invalid_grant: 'why'")
        members["error"] = spelling
        #expect(try error(members).server == nil)
    }

    /// RFC 6749 §3.1 lets an empty parameter count as omitted, but RFC 9207 §2.4 has an `iss` compared.
    @Test(arguments: [nil, .null, "", "https://other.example"] as [JSON?])
    func `an empty iss of a redirect is a wrong one`(iss: JSON?) throws {
        let provider = try ProviderMetadata(
            issuer: Issuer(Signer.issuer), endpoints: [.authorization: Signer.issuer + "/authorize"])
        let request = try AuthorizationRequest(
            client: Client(id: "c", provider: provider), redirectURI: "http://127.0.0.1/cb")
        var query = "code=c&state=" + request.state.reveal()
        if let text = iss?.string { query += "&iss=" + FormParameters.encode(text) }
        let error = refusal { try request.response(fromQuery: query) }
        #expect((error == nil) == (iss?.string == nil))
        #expect(error == nil || error?.message.contains("expected 'iss'") == true)
        let right = query.replacing(/&iss=.*/, with: "") + "&iss=" + FormParameters.encode(Signer.issuer)
        #expect(refusal { try request.response(fromQuery: right) } == nil)
    }
}
