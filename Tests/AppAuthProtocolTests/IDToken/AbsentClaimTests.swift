import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

/// Claims that a provider spells as null or empty, and claims with a character that it has broken.
struct AbsentClaimTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    /// Returns the error of a token whose claims were changed, then had each U+FFFD replaced by a lone surrogate.
    private func verify(
        _ expected: IDTokenVerifier.Expectations = .usual, header: String? = nil,
        _ edit: (inout JSON.Object) -> Void
    ) throws -> IDToken {
        var claims = Signer.claims
        edit(&claims)
        let parts = [header ?? #"{"alg":"ES256","kid":"key-1"}"#, JSON.object(claims).serialized()]
        let input = parts.map { Base64URL.encode(Array($0.replacing("\u{FFFD}", with: #"\ud83d"#).utf8)) }
            .joined(separator: ".")
        let token = input + "." + Base64URL.encode(try signer.key.sign(Array(input.utf8)))
        return try Signer.verifier().verify(Secret(token), keys: signer.keys, expecting: expected)
    }

    @Test(arguments: [
        "azp", "at_hash", "c_hash", "nbf", "auth_time", "acr", "amr", "sid", "name", "email", "address", "tid",
        "events",
    ])
    func `an optional claim that is null is absent`(name: String) throws {
        var expected = IDTokenVerifier.Expectations.usual
        (expected.accessToken, expected.acrValues) = (Signer.accessToken, ["urn:a"])
        let token = try verify(expected) { $0[name] = .null }
        #expect(token.claims[name] == nil && token.claims.members.names.contains(name))
    }

    @Test(arguments: ["azp", "at_hash"]) func `an optional text that is empty is absent`(name: String) throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Signer.accessToken
        #expect(try verify(expected) { $0[name] = "" }.subject == "24400320")
        for value in [" ", [], false] as [JSON] {
            #expect(refusal { try verify(expected) { $0[name] = value } }?.message.contains("'\(name)'") == true)
        }
    }

    /// Each of them protects: a value of another kind, and an empty one, are wrong.
    @Test(
        arguments: ["nbf", "auth_time", "iss", "aud", "sub", "exp", "iat", "nonce"],
        ["", [], false] as [JSON])
    func `a claim that is checked is not absent because it is empty or of another kind`(
        name: String, value: JSON
    ) throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Signer.accessToken
        #expect(refusal { try verify(expected) { _ in } } == nil)
        let error = refusal { try verify(expected) { $0[name] = value } }
        #expect(error?.code == .invalidIDToken && error?.message.contains("'\(name)'") == true, "\(error as Any)")
    }

    @Test(arguments: ["iss", "aud", "sub", "exp", "iat", "nonce"], [nil, .null] as [JSON?])
    func `a required claim is missing as null`(name: String, value: JSON?) throws {
        let error = refusal { try verify { $0[name] = value } }
        #expect(error?.code == .invalidIDToken && error?.message.contains("'\(name)'") == true, "\(error as Any)")
    }

    @Test func `null takes the place of nothing that a request demands`() throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.maxAge = 60
        #expect(refusal { try verify(expected) { $0["auth_time"] = .null } }?.message.contains("'auth_time'") == true)
        expected = .usual
        expected.essentialACRValues = []
        #expect(refusal { try verify(expected) { $0["acr"] = .null } }?.message.contains("'acr'") == true)
        expected = .usual
        expected.code = Secret("code")
        #expect(refusal { try verify(expected) { $0["c_hash"] = .null } }?.message.contains("'c_hash'") == true)
        // Core §3.1.3.7 step 4
        let several = refusal { try verify { ($0["aud"], $0["azp"]) = (["s6BhdRkqt3", "s6BhdRkqt3"], .null) } }
        #expect(several?.message.contains("'azp'") == true)
        // None was sent.
        #expect(try verify(.init()) { $0["nonce"] = .null }.subject == "24400320")
        #expect(refusal { try verify(.init()) { $0["nonce"] = "" } }?.message.contains("'nonce'") == true)
    }

    @Test(arguments: [#"{"alg":"ES256","kid":null}"#, #"{"alg":"ES256","kid":"key-1","typ":null,"cty":null}"#])
    func `a header with null is read`(header: String) throws {
        #expect(try verify(header: header) { _ in }.subject == "24400320")
        let null = header.replacing("\"ES256\"", with: "null")
        #expect(refusal { try verify(header: null) { _ in } }?.message.contains("'alg'") == true)
    }

    @Test(arguments: ["name", "given_name", "nickname", "preferred_username", "email", "locale", "title"])
    func `a claim that is only shown may be broken`(name: String) throws {
        let token = try verify { $0[name] = "Ann \u{FFFD}" }
        #expect(token.claims[name]?.string == "Ann \u{FFFD}" && token.subject == "24400320")
        let nested = try verify { $0["address"] = ["locality": "K\u{FFFD}ln"] }
        #expect(nested.claims.address?["locality"]?.string == "K\u{FFFD}ln")
        #expect(try verify { $0["name"] = "Ann \u{FFFD}" }.claims.name == "Ann \u{FFFD}")
    }

    @Test(
        arguments: [
            ("iss", .string(Signer.issuer + "\u{FFFD}")), ("sub", "24400320\u{FFFD}"), ("aud", "s6BhdRkqt3\u{FFFD}"),
            ("aud", ["s6BhdRkqt3", "\u{FFFD}"]), ("azp", "s6BhdRkqt3\u{FFFD}"), ("nonce", "n-0S6_WzA2Mj\u{FFFD}"),
            ("at_hash", "\u{FFFD}"),
        ] as [(String, JSON)])
    func `a claim that is compared may not be broken`(name: String, value: JSON) throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Signer.accessToken
        let error = refusal { try verify(expected) { $0[name] = value } }
        #expect(error?.code == .invalidIDToken && error?.message.contains("'\(name)'") == true, "\(error as Any)")
    }

    @Test(arguments: ["kid", "typ"]) func `a broken text in the header is refused`(name: String) throws {
        let rest = name == "kid" ? "" : #","kid":"key-1""#
        let header = #"{"alg":"ES256","\#(name)":"key-1?"\#(rest)}"#.replacing("?", with: "\u{FFFD}")
        let error = refusal { try verify(header: header) { _ in } }
        #expect(error?.message.contains("a string with a broken character") == true, "\(error as Any)")
    }

    /// RFC 7519 §7.2 step 10, RFC 8259 §8.1: bytes that are not UTF-8 are no JSON. So is a broken name of a member.
    @Test(
        arguments: [
            (#""name":"ANN""#, [0x41, 0xC3]), (#""name":"ANN""#, [0xFF]), (#""name":"ANN""#, [0xED, 0xA0, 0xBD]),
            (#""ANN":1"#, Array(#"\ud83d"#.utf8)),
        ] as [(String, [UInt8])])
    func `claims that are not JSON are refused`(member: String, bytes: [UInt8]) throws {
        func token(_ broken: [UInt8]) throws -> Secret {
            let text = JSON.object(Signer.claims).serialized().dropLast() + "," + member + "}"
            let at = try #require(text.utf8.firstRange(of: Array("ANN".utf8)))
            var payload = Array(text.utf8.prefix(upTo: at.lowerBound))
            payload += broken + Array(text.utf8.suffix(from: at.upperBound))
            let input =
                Base64URL.encode(Array(#"{"alg":"ES256","kid":"key-1"}"#.utf8)) + "." + Base64URL.encode(payload)
            return Secret(input + "." + Base64URL.encode(try signer.key.sign(Array(input.utf8))))
        }
        let verifier = try Signer.verifier()
        #expect(refusal { try verifier.verify(token([0x41]), keys: signer.keys, expecting: .usual) } == nil)
        let error = refusal { try verifier.verify(token(bytes), keys: signer.keys, expecting: .usual) }
        #expect(error?.message.contains("not valid JSON") == true)
    }

    @Test func `a subject that is broken is none, and two broken ones are not the same user`() throws {
        let (one, other) = (try JSON(parsing: #"{"sub":"a\ud800"}"#), try JSON(parsing: #"{"sub":"a\ud801"}"#))
        for json in [one, other] { #expect(try Claims(#require(json.object)).subject == nil) }
        #expect(Claims(["sub": "a"]).subject == "a")
    }

    /// Core §5.3.2
    @Test(arguments: [nil, .null, ""] as [JSON?]) func `a property of the claims is nil in any spelling`(value: JSON?) {
        var members = JSON.Object()
        (members["name"], members["email"]) = (value, value)
        #expect(Claims(members).name == nil && Claims(members).email == nil)
    }
}
