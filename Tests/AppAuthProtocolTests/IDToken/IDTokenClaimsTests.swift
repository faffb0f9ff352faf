import AppAuthProtocol
import Foundation
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §3.1.3.7 steps 2 to 5 and §2: the issuer, the audience and the subject of the token.
struct IDTokenClaimsTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    @Test func `a token that is right in every respect is verified and decoded`() throws {
        let token = try signer.token { $0["email"] = "j@example.org" }
        let idToken = try Signer.verifier().verify(token, keys: signer.keys, expecting: .usual)
        #expect(idToken.issuer == Signer.issuer)
        #expect(idToken.subject == "24400320")
        #expect(idToken.audience == ["s6BhdRkqt3"])
        #expect(idToken.expiration == Signer.now + 600)
        #expect(idToken.issuedAt == Signer.now)
        #expect(idToken.claims.email == "j@example.org")
        #expect(idToken.rawValue == token)
    }

    // oidcc-client-test-invalid-iss; fapi2-…-invalid-missing-iss
    @Test(
        arguments: [
            "https://op.example/", "https://OP.example", "https://op.example.evil.example", "http://op.example", "", 1,
            nil,
            ["https://op.example"], .null,
        ] as [JSON?])
    func `step 2: another issuer is refused`(issuer: JSON?) throws {
        try expectRefusal("'iss'") { $0["iss"] = issuer }
    }

    private static let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
    private static let template = IssuerPolicy.template("https://login.example/{tenantid}/v2.0")

    @Test(arguments: [
        template, .template("https://login.example/{tenantid}/v2.0", tenants: [tenant]),
        .template("https://{tenantid}.login.example/{tenantid}", tenants: nil),
    ])
    func `step 2: the issuer is the template with the token's tenant`(policy: IssuerPolicy) throws {
        let issuer = policy.template?.replacing("{tenantid}", with: Self.tenant) ?? ""
        try expectSuccess(configure: { $0.issuer = policy }) {
            ($0["iss"], $0["tid"]) = (.string(issuer), .string(Self.tenant))
        }
        let configure: (inout IDTokenRules) -> Void = { $0.issuer = policy }
        try expectRefusal("'iss'", configure: configure) { $0["tid"] = .string(Self.tenant) }
        try expectRefusal("'iss'", configure: configure) {
            ($0["iss"], $0["tid"]) = (policy.template.map(JSON.string), .string(Self.tenant))
        }
    }

    @Test(
        arguments: [
            nil, .null, 1, "", "common", "{tenantid}", "31537af4-6d77-4bb9-a681-d2394888ea2",
            "31537af4-6d77-4bb9-a681-d2394888ea267", "31537af46d774bb9a681d2394888ea26",
            "31537af4-6d77-4bb9-a681-d2394888ea2g", "31537af4-6d77-4bb9-a681-/../88ea26", "evil.example/x?y=z#12345",
            "%33%31537af4-6d77-4bb9-a681-d2394888", "31537af4-6d77-4bb9-a681-d2394888ea26/", "３1537af4-6d77-4bb9-a681",
            "31537af4-6d77-4bb9--a681-d2394888ea26", [.string(tenant)],
        ] as [JSON?])
    func `step 2: a tenant that is no UUID is refused, although the issuer matches it`(tenant: JSON?) throws {
        try expectRefusal("'tid'", configure: { $0.issuer = Self.template }) {
            $0["iss"] = .string("https://login.example/\(tenant?.string ?? Self.tenant)/v2.0")
            $0["tid"] = tenant
        }
    }

    @Test func `step 2: a tenant that is not accepted is refused`() throws {
        let other = "9188040d-6c67-4c5b-b112-36a304b66dad"
        for tenants in [[], [other]] as [Set<String>] {
            try expectRefusal(
                "accepted tenant",
                configure: { $0.issuer = .template("https://login.example/{tenantid}/v2.0", tenants: tenants) }
            ) {
                $0["iss"] = .string("https://login.example/\(Self.tenant)/v2.0")
                $0["tid"] = .string(Self.tenant)
            }
        }
    }

    @Test func `step 2: without a template, the token's tenant is of no interest`() throws {
        try expectSuccess { $0["tid"] = "evil.example/" }
    }

    // oidcc-client-test-invalid-aud, oidcc-client-test-missing-aud
    @Test(
        arguments: ["other", "S6BhdRkqt3", "s6BhdRkqt3 ", "", [], ["other"], 1, nil, .null, ["s6BhdRkqt3", 1]]
            as [JSON?])
    func `step 3: an audience without the client is refused`(audience: JSON?) throws {
        try expectRefusal("'aud'") { $0["aud"] = audience }
    }

    // fapi2-…-valid-aud-as-array
    @Test func `step 3: an array of only the client is valid`() throws {
        try expectSuccess { $0["aud"] = ["s6BhdRkqt3"] }
    }

    // fapi2-…-invalid-secondary-aud
    @Test func `step 3: an audience that is not trusted is refused beside the client`() throws {
        let both: (inout JSON.Object) -> Void = {
            $0["aud"] = ["s6BhdRkqt3", "api"]
            $0["azp"] = "s6BhdRkqt3"
        }
        try expectRefusal("found 'api'", edit: both)
        try expectSuccess(configure: { $0.trustedAudiences = ["api"] }, edit: both)
        try expectRefusal("found 'api'", configure: { $0.trustedAudiences = ["apis"] }, edit: both)
    }

    @Test func `step 4: several audiences need an azp`() throws {
        try expectRefusal("'azp'", configure: { $0.trustedAudiences = ["api"] }) { $0["aud"] = ["s6BhdRkqt3", "api"] }
        try expectSuccess {
            $0["aud"] = ["s6BhdRkqt3", "s6BhdRkqt3"]; $0["azp"] = "s6BhdRkqt3"
        }
    }

    @Test(arguments: ["other", " ", 1, ["s6BhdRkqt3"]] as [JSON])
    func `step 5: an azp that is not the client is refused`(azp: JSON) throws {
        try expectRefusal("'azp'") { $0["azp"] = azp }
        try expectSuccess { $0["azp"] = "s6BhdRkqt3" }
    }

    // oidcc-client-test-missing-sub
    @Test(arguments: ["", .string(String(repeating: "a", count: 256)), "jané", 1, nil, .null] as [JSON?])
    func `a sub has 1 to 255 ASCII characters (Core §2)`(subject: JSON?) throws {
        try expectRefusal("'sub'") { $0["sub"] = subject }
    }

    @Test(arguments: ["a", String(repeating: "a", count: 255)])
    func `a sub of the shortest and the longest length is fine (Core §2)`(subject: String) throws {
        try expectSuccess { $0["sub"] = .string(subject) }
    }

    @Test(arguments: ["", "a", "a.b", "a.b.c", "a.b.c.d", "e30.e30.", "e30..e30", "..", "e30=.e30.e30"])
    func `a text that is no signed token is refused`(text: String) throws {
        let error = try #require(
            refusal { try Signer.verifier().verify(Secret(text), keys: signer.keys, expecting: .usual) })
        #expect(error.code == .invalidIDToken)
    }

    // RFC 8725 §3.11.
    @Test(arguments: ["at+jwt", "AT+JWT", "application/at+jwt", "logout+jwt", "secevent+jwt", "dpop+jwt"])
    func `a token of another kind is refused by its typ`(typ: String) throws {
        let error = try #require(
            refusal { try Signer.verifier().verify(signer.token(typ: typ), keys: signer.keys, expecting: .usual) })
        #expect(error.message.contains("'\(typ)'"))
    }

    @Test(arguments: ["JWT", "jwt", nil, "application/jwt"])
    func `a typ that says no more than JWT is fine`(typ: String?) throws {
        _ = try Signer.verifier().verify(signer.token(typ: typ), keys: signer.keys, expecting: .usual)
    }

    @Test(arguments: ["[]", "1", #"{"iss":"https://op.example","iss":"https://op.example/"}"#, "{", ""])
    func `a payload that is not one strict JSON object is refused`(payload: String) throws {
        let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"key-1"}"#.utf8))
        let input = header + "." + Base64URL.encode(Array(payload.utf8))
        let token = input + "." + Base64URL.encode(try signer.key.sign(Array(input.utf8)))
        #expect(
            refusal { try Signer.verifier().verify(Secret(token), keys: signer.keys, expecting: .usual) }?.code
                == .invalidIDToken)
    }

    private func expectSuccess(
        configure: (inout IDTokenRules) -> Void = { _ in }, edit: (inout JSON.Object) -> Void
    ) throws {
        var verifier = try Signer.verifier()
        configure(&verifier.client.idTokenRules)
        _ = try verifier.verify(signer.token(edit), keys: signer.keys, expecting: .usual)
    }

    private func expectRefusal(
        _ what: String, configure: (inout IDTokenRules) -> Void = { _ in }, edit: (inout JSON.Object) -> Void
    ) throws {
        var verifier = try Signer.verifier()
        configure(&verifier.client.idTokenRules)
        let token = try signer.token(edit)
        let error = try #require(refusal { try verifier.verify(token, keys: signer.keys, expecting: .usual) })
        #expect(error.code == .invalidIDToken)
        #expect(error.message.contains(what), "\(error.message)")
    }
}
