import JOSE
import AppAuthTestProvider
import Testing

/// The options of `local-provider` beyond OpenID Connect Core.
@Suite struct CommandOptionTests {
    private let form: [(name: String, value: String)] = [
        ("grant_type", "client_credentials"), ("client_id", "demo-service"),
        ("client_secret", "service-secret-of-thirty-two-bytes"), ("scope", "api"),
        ("authorization_details", #"[{"type":"payment_initiation"}]"#),
    ]

    @Test func `the provider enforces its options, and its metadata says so`() async throws {
        let child = try CommandTests.Child([
            "--require-par", "--require-dpop", "--dpop-nonce", "--authorization-details-type", "payment_initiation",
            "--step-up", "urn:example:strong",
        ])
        let issuer = String(child.firstLine().dropLast())
        let metadata = try #require(try await Wire.send("GET", issuer + "/.well-known/openid-configuration").json)
        #expect(metadata["require_pushed_authorization_requests"]?.bool == true)
        #expect(metadata["authorization_details_types_supported"]?.strings == ["payment_initiation"])
        #expect(metadata["acr_values_supported"]?.strings?.contains("urn:example:strong") == true)

        let (key, url) = (try DPoPKey(), issuer + "/token")
        let plain = try await Wire.post(url, form)
        #expect(plain.json?["error"]?.string == "invalid_dpop_proof")
        let challenge = try await Wire.post(url, form, [("DPoP", try key.proof("POST", url))])
        #expect(challenge.json?["error"]?.string == "use_dpop_nonce")
        let nonce = try #require(challenge.header("DPoP-Nonce"))
        let response = try await Wire.post(url, form, [("DPoP", try key.proof("POST", url, nonce: nonce))])
        let token = try #require(response.json?["access_token"]?.string)
        #expect(response.json?["authorization_details"]?.array?.count == 1)

        let echo = issuer + "/api/echo"
        let refusal = try await Wire.send("GET", echo, key.fields("GET", echo, token: token, nonce: nonce))
        #expect(refusal.header("WWW-Authenticate")?.contains(#"acr_values="urn:example:strong""#) == true)
    }

    @Test func `without them it takes things as they come`() async throws {
        let child = try CommandTests.Child([])
        let issuer = String(child.firstLine().dropLast())
        let metadata = try #require(try await Wire.send("GET", issuer + "/.well-known/openid-configuration").json)
        #expect(metadata["require_pushed_authorization_requests"]?.bool == false)
        let response = try await Wire.post(issuer + "/token", form.filter { $0.name != "authorization_details" })
        #expect(response.json?["token_type"]?.string == "Bearer")
        #expect(response.header("DPoP-Nonce") == nil)
        let token = try #require(response.json?["access_token"]?.string)
        let echo = try await Wire.send("GET", issuer + "/api/echo", [("Authorization", "Bearer \(token)")])
        #expect(echo.status == 200)
        // RFC 9728 §5.1.
        let location = issuer + "/.well-known/oauth-protected-resource/api/echo"
        let challenge = try await Wire.send("GET", issuer + "/api/echo").header("WWW-Authenticate")
        #expect(challenge?.contains(#"resource_metadata="\#(location)""#) == true)
        #expect(try await Wire.send("GET", location).json?["authorization_servers"]?.strings == [issuer])
    }

    @Test(arguments: [[], ["--user", "bob:secret"]])
    func `each user has the picture of the option`(users: [String]) async throws {
        let child = try CommandTests.Child(users + ["--picture", "https://example.org/a.png"])
        let issuer = String(child.firstLine().dropLast())
        let (name, password) = users.isEmpty ? ("alice", "looking-glass") : ("bob", "secret")
        let tokens = try await Wire.post(
            issuer + "/token",
            [
                ("grant_type", "password"), ("client_id", "demo-confidential"),
                ("client_secret", "s3cret: 100% äß+/= and thirty-two"), ("scope", "openid profile"),
                ("username", name), ("password", password),
            ])
        let token = try #require(tokens.json?["access_token"]?.string, "\(tokens.text)")
        let claims = try await Wire.send("GET", issuer + "/userinfo", [("Authorization", "Bearer \(token)")])
        #expect(claims.json?["picture"]?.string == "https://example.org/a.png")
    }

    @Test(arguments: [
        ["--require-par"], ["--require-dpop"], ["--dpop-nonce"], ["--authorization-details-type", "x"],
        ["--step-up", "x"], ["--certificate", "a", "--key", "b"], ["--picture", "https://example.org/alice.png"],
        ["--fault", "slow"], ["--grace-period", "5"],
    ])
    func `a vendor's double takes none of them`(option: [String]) throws {
        let child = try CommandTests.Child(["--double", "moltin"] + option)
        #expect(child.end() == 2)
        #expect(child.rest(child.errors).contains("expected no \(option[0])"))
    }
}
