import JOSE
import AppAuthTestProvider
import Testing

/// RFC 7591 and OpenID Connect Registration.
@Suite struct RegistrationTests {
    @Test func `a client that registered itself signs in`() async throws {
        try await withLocalProvider { provider in
            let registration = try await Applicant(provider: provider).registered()
            #expect(registration["client_secret"] == nil && registration["client_name"]?.string == "An App")
            let id = try #require(registration["client_id"]?.string)
            var flow = Flow(provider: provider)
            flow.clientID = id
            let redirect = "http://127.0.0.1:49152/callback"
            let response = try await flow.authorize(["redirect_uri": redirect])
            let tokens = try await flow.exchange(try #require(response["code"]), ["redirect_uri": redirect])
            #expect(tokens.status == 200 && tokens.json?["refresh_token"] != nil)
            let claims = try await verifiedClaims(tokens.json?["id_token"]?.string, provider)
            #expect(claims["aud"]?.string == id)
        }
    }

    @Test func `missing members have the defaults of RFC 7591 §2, and unknown ones are not registered`()
        async throws
    {
        try await withLocalProvider { provider in
            let registration = try await Applicant(provider: provider).registered([
                "token_endpoint_auth_method": nil, "grant_types": nil, "response_types": nil, "application_type": nil,
                "shoe_size": 42, "client_name#de": "Eine App",
            ])
            #expect(registration["token_endpoint_auth_method"] == "client_secret_basic")
            #expect(registration["grant_types"] == ["authorization_code"] && registration["response_types"] == ["code"])
            #expect(registration["application_type"] == "web" && registration["shoe_size"] == nil)
            #expect(registration["client_name#de"] == "Eine App")
            #expect(registration["client_secret"]?.string?.isEmpty == false)
            #expect(registration["client_secret_expires_at"] == 0)
        }
    }

    @Test(
        arguments: [
            ("redirect_uris", nil, "invalid_redirect_uri"), ("redirect_uris", [], "invalid_redirect_uri"),
            ("redirect_uris", ["http://app.example/callback"], "invalid_redirect_uri"),
            ("redirect_uris", ["https://app.example/callback#top"], "invalid_redirect_uri"),
            ("redirect_uris", ["/callback"], "invalid_redirect_uri"),
            ("redirect_uris", ["app:/"], "invalid_redirect_uri"),
            ("redirect_uris", "http://127.0.0.1/callback", "invalid_client_metadata"),
            ("grant_types", ["authorization_code", "teleport"], "invalid_client_metadata"),
            ("grant_types", ["password"], "invalid_client_metadata"),
            ("grant_types", ["refresh_token"], "invalid_client_metadata"),
            ("grant_types", ["authorization_code", "client_credentials"], "invalid_client_metadata"),
            ("response_types", ["token"], "invalid_client_metadata"), ("response_types", [], "invalid_client_metadata"),
            ("token_endpoint_auth_method", "guess", "invalid_client_metadata"),
            ("token_endpoint_auth_method", "private_key_jwt", "invalid_client_metadata"),
            ("application_type", "toaster", "invalid_client_metadata"), ("client_name", 7, "invalid_client_metadata"),
            ("client_uri", "ftp://app.example/", "invalid_client_metadata"),
            ("id_token_signed_response_alg", "none", "invalid_client_metadata"),
            ("software_statement", "e30.e30.AA", "invalid_software_statement"),
        ] as [(String, JSON?, String)])
    func `metadata that is wrong in one respect is refused`(name: String, value: JSON?, code: String) async throws {
        try await withLocalProvider { provider in
            let found = try await Applicant(provider: provider).refusal([name: value])
            #expect(found == code)
        }
    }

    @Test(arguments: [["https://app.example/callback"], ["com.example.app:/callback"], ["http://[::1]/"]])
    func `redirect URIs of every kind that is safe are taken`(uris: [String]) async throws {
        try await withLocalProvider { provider in
            let value = JSON.array(uris.map(JSON.string))
            let registration = try await Applicant(provider: provider).registered(["redirect_uris": value])
            #expect(registration["redirect_uris"] == value)
        }
    }

    @Test func `only JSON is read, and only POST registers`() async throws {
        try await withLocalProvider { provider in
            let response = try await Applicant(provider: provider).register(type: "text/plain")
            #expect(response.status == 400 && response.json?["error"] == "invalid_client_metadata")
            #expect(try await Wire.send("GET", provider.url(.clientRegistration)).status == 405)
        }
    }

    @Test func `where a token lets one register, none and another do not`() async throws {
        try await withLocalProvider(.demo { $0.registration = DynamicRegistration(initialAccessToken: "let-me-in") }) {
            provider in
            for token in [nil, "let-me-out"] {
                let response = try await Applicant(provider: provider, bearer: token).register()
                #expect(
                    response.status == 401 && response.header("WWW-Authenticate")?.contains("invalid_token") == true)
            }
            _ = try await Applicant(provider: provider, bearer: "let-me-in").registered()
        }
    }

    @Test func `a provider whose clients are registered by hand names no endpoint, and has none`() async throws {
        try await withLocalProvider(.demo { $0.registration = nil }) { provider in
            let metadata = try await Wire.send("GET", provider.url(.openIDConfiguration)).json
            #expect(metadata?["registration_endpoint"] == nil)
            #expect(try await Applicant(provider: provider).register().status == 404)
        }
    }

    @Test func `a software statement has precedence, and its signer is known`() async throws {
        let (key, other) = (try SigningKey.generate(.es256), try SigningKey.generate(.es256))
        var options = DynamicRegistration()
        options.statementIssuers = [TrustedIssuer("https://vendor.example", keys: [key.publicKey])]
        options.requiresSoftwareStatement = true
        func statement(_ changes: KeyValuePairs<String, JSON> = [:], key signer: SigningKey = key) throws -> JSON {
            var claims: JSON.Object = ["iss": "https://vendor.example", "client_name": "The Vendor's App"]
            for (name, value) in changes { claims[name] = value }
            return .string(try JWS.sign(.object(claims), with: signer))
        }
        try await withLocalProvider(.demo { $0.registration = options }) { provider in
            let applicant = Applicant(provider: provider)
            let sound = try statement()
            let registration = try await applicant.registered(["software_statement": sound])
            #expect(registration["client_name"] == "The Vendor's App" && registration["software_statement"] == sound)
            #expect(try await applicant.refusal([:]) == "unapproved_software_statement")
            let foreign = try statement(["iss": "https://stranger.example"])
            #expect(
                try await applicant.refusal(["software_statement": foreign]) == "unapproved_software_statement")
            for wrong in [try statement(key: other), try statement(["exp": 1_000_000])] {
                #expect(try await applicant.refusal(["software_statement": wrong]) == "invalid_software_statement")
            }
            let daring = try statement(["redirect_uris": ["http://app.example/"]])
            #expect(try await applicant.refusal(["software_statement": daring]) == "invalid_redirect_uri")
        }
    }
}
