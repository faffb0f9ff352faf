import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Attacks of a hostile sender beyond one wrong claim: RFC 8725 §2 and §3, RFC 8259 §8 and §9.
struct HostileTokenTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    /// A token that is rightly signed over any bytes.
    private func token(header: [UInt8]? = nil, payload: [UInt8]) throws -> Secret {
        let header = header ?? Array(#"{"alg":"ES256","kid":"key-1"}"#.utf8)
        let input = [header, payload].map(Base64URL.encode).joined(separator: ".")
        return Secret(input + "." + Base64URL.encode(try signer.key.sign(Array(input.utf8))))
    }

    /// The claims of a token that is right, in JSON that a test may spoil.
    private func payload(_ edit: (inout String) -> Void = { _ in }) -> [UInt8] {
        var text = JSON.object(Signer.claims).serialized()
        edit(&text)
        return Array(text.utf8)
    }

    private func refusal(_ token: Secret) throws -> AuthError? {
        let keys = try signer.keys
        let error = TestFixtures.refusal { try Signer.verifier().verify(token, keys: keys, expecting: .usual) }
        #expect(error == nil || error?.code == .invalidIDToken)
        return error
    }

    @Test func `a claim with two values is refused (RFC 8725 §2.4)`() throws {
        #expect(try refusal(token(payload: payload())) == nil)
        for name in ["iss", "sub", "aud", "exp", "nonce", "other"] {
            let twice = payload { $0 = #"{"\#(name)":"a","\#(name)":"b","# + $0.dropFirst() }
            #expect(try refusal(token(payload: twice))?.message.contains("payload") == true, "\(name)")
        }
        // One of the two is spelt with an escape.
        #expect(
            try refusal(token(payload: payload { $0 = #"{"is\u0073":"https://op.example/a","# + $0.dropFirst() }))
                != nil)
        // Keycloak, with two mappers for one claim.
        let twice = payload { $0 = #"{"address":{"a":1},"address":{"a":1},"# + $0.dropFirst() }
        #expect(try refusal(token(payload: twice)) == nil)
    }

    @Test(
        arguments: ["exp", "iat", "nbf", "auth_time"],
        [
            ("1e400", false), ("-1e400", false), ("-0.5", false), ("-1", false), (#""1750000300""#, false),
            ("\"\"", false),
            ("{}", false), ("9007199254740993000000", false), ("1750000000.5", true), ("1.75e9", true),
        ])
    func `a time is a number of its range, in every claim (RFC 7519 §2)`(
        name: String, pair: (text: String, isTaken: Bool)
    ) throws {
        var claims = Signer.claims
        claims[name] = nil
        // The other times allow both sides of now.
        let text = JSON.object(claims).serialized().dropLast() + #","\#(name)":\#(pair.text)}"#
        let error = TestFixtures.refusal {
            var verifier = try Signer.verifier()
            verifier.client.idTokenRules.leeway = .seconds(120)
            return try verifier.verify(token(payload: Array(text.utf8)), keys: signer.keys, expecting: .usual)
        }
        #expect((error == nil) == pair.isTaken, "\(error?.message ?? "")")
        #expect(error == nil || error?.code == .invalidIDToken && error?.message.contains("'\(name)'") == true)
    }

    @Test(arguments: [(63, true), (64, false), (20_000, false)])
    func `claims are nested 64 deep at most`(depth: Int, isTaken: Bool) throws {
        let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let error = try refusal(token(payload: payload { $0 = #"{"deep":\#(nested),"# + $0.dropFirst() }))
        #expect((error == nil) == isTaken)
    }

    /// RFC 8725 §3.7, RFC 3629 §3: cut short, overlong, a surrogate, beyond Unicode, and UTF-16.
    @Test(
        arguments: [[0xC3], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xFF, 0xFE]] as [[UInt8]])
    func `a header or claims that are not UTF-8 are refused`(bytes: [UInt8]) throws {
        let inside = Array(#"{"a":""#.utf8) + bytes + Array(#"","#.utf8)
        #expect(try refusal(token(payload: inside + payload().dropFirst())) != nil)
        let header = inside + Array(#""alg":"ES256","kid":"key-1"}"#.utf8)
        #expect(try refusal(token(header: header, payload: payload())) != nil)
        #expect(try refusal(token(payload: [0xEF, 0xBB, 0xBF] + payload())) != nil)
    }

    @Test(arguments: ["jku", "x5u", "jwk", "x5c", "x5t", "x5t#S256"])
    func `a header that contains a key, or names one, changes nothing (RFC 8725 §3.10)`(name: String) throws {
        let attacker = try Signer()
        let values: [JSON] = ["https://attacker.example/key", attacker.jwk(), ["MIIB"], 1, .null]
        for value in values {
            let header = JSON.object(["alg": "ES256", "kid": "key-1", name: value]).serialized()
            #expect(try refusal(token(header: Array(header.utf8), payload: payload())) == nil)
            let forged = try JWS.sign(
                .object(Signer.claims), header: ["kid": "key-1", name: value], with: attacker.key)
            #expect(try refusal(Secret(forged))?.message.contains("signature") == true)
        }
    }

    @Test(arguments: ["jku", "x5u"])
    func `a URL in a header is never fetched (RFC 8725 §3.10)`(name: String) async throws {
        try await World.run { world in
            let trap = JSON.string(world.provider.url(.api))
            world.provider.fault(
                .editIDToken {
                    $0.header[name] = trap
                    $0.signature = .unpublishedKey(.rs256)
                }, at: .token)
            #expect(await authError { try await world.signIn() }?.code == .invalidIDToken)
            #expect(world.provider.count(.api) == 0)
        }
    }

    @Test(arguments: [
        "../../etc/passwd", "key-1' OR '1'='1", "key-1\u{0}", "KEY-1", "\u{212A}ey-1",
        String(repeating: "k", count: 9999),
    ])
    func `a kid is a name and no more (RFC 8725 §3.10)`(kid: String) throws {
        let token = try JWS.sign(.object(Signer.claims), header: ["kid": .string(kid)], with: signer.key)
        #expect(try refusal(Secret(token))?.message.contains("expected a matching key") == true)
    }

    /// RFC 7517 §5: unknown keys are ignored. A private key that was published is compromised.
    @Test func `among unknown keys the one valid key is found, and a private one is not used`()
        throws
    {
        var secret = try #require(signer.jwk().object)
        secret["d"] = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
        let strange: [JSON] = [
            ["kty": "oct", "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ", "kid": "key-1"], ["kty": "AKP", "kid": "key-1"],
            ["kty": "EC", "crv": "secp256k1", "kid": "key-1"], ["kty": ["EC"]], 1, .null, "EC", [], .object(secret),
        ]
        let (valid, invalid) = (try Signer.keySet(strange + [signer.jwk()] + strange), try Signer.keySet(strange))
        let token = try signer.token()
        _ = try Signer.verifier().verify(token, keys: valid, expecting: .usual)
        #expect(throws: AuthError.self) { try Signer.verifier().verify(token, keys: invalid, expecting: .usual) }
    }

    @Test func `documents of 50 MB are refused at their limit, each where it comes`() async throws {
        try await World.run { world in
            let huge = Fault.oversize(bytes: 50 << 20)
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] { world.provider.fault(huge, at: location) }
            #expect(await authError { try await world.metadata() }?.code == .invalidResponse)
            let client = try await world.client()
            world.provider.fault(huge, at: .keys, times: 1)
            #expect(await authError { try await world.signIn(client) }?.code == .invalidResponse)
            let response = try await world.authorize(client)
            world.provider.fault(huge, at: .token, times: 1)
            let refused = await authError {
                try await AuthState.exchange(response, store: TestStore(), environment: world.environment)
            }
            #expect(refused?.code == .invalidResponse)
            let state = try await world.signIn(client)
            world.provider.fault(huge, at: .userInfo, times: 1)
            #expect(await authError { try await state.userInfo() }?.code == .invalidResponse)
            #expect(try await state.userInfo().name == "Alice Liddell")
        }
    }
}
