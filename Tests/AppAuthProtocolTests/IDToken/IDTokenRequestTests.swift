import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// OpenID Connect Core §3.1.3.7 steps 11 to 13, §3.1.3.8: the token fulfils the request.
struct IDTokenRequestTests {
    private let signer: Signer

    init() throws { signer = try Signer() }

    // oidcc-client-test-nonce-invalid, fapi2-…-invalid-missing-nonce
    @Test(arguments: ["another", "", "n-0S6_WzA2MjX", "N-0S6_WzA2Mj", 1, nil, .null] as [JSON?])
    func `step 11: another nonce than the one sent is refused`(nonce: JSON?) throws {
        try expectRefusal("'nonce'", .usual) { $0["nonce"] = nonce }
    }

    @Test func `step 11: a nonce that was not asked for is refused`() throws {
        try expectRefusal("'nonce'", .init(nonce: nil))
        try expectSuccess(.init(nonce: nil)) { $0["nonce"] = nil }
    }

    // Core §3.1.3.7 step 12 and §3.1.2.1: acr_values requests a voluntary claim. RFC 9470: a step-up requires it.
    @Test(arguments: [(false, false, true), (true, false, false), (true, true, true)])
    func `another acr is refused, unless the app accepts it and meets no step-up`(
        acceptsOther: Bool, isStepUp: Bool, isEnforced: Bool
    ) throws {
        var options = AuthorizationRequest.Options()
        (options.acrValues, options.acceptsOtherACR) = (["urn:a", "urn:b"], acceptsOther)
        if isStepUp {
            let field = #"Bearer error="insufficient_user_authentication", acr_values="urn:a urn:b""#
            let response = HTTPResponse(status: .unauthorized, headerFields: [.wwwAuthenticate: field])
            options.meet(try #require(TransportResponse(response, body: []).stepUpChallenge))
        }
        let provider = try ProviderMetadata(issuer: "https://h", endpoints: [.authorization: "https://h/a"])
        let request = try AuthorizationRequest(
            client: Client(id: "a", provider: provider), redirectURI: "http://127.0.0.1:1/c", options: options)
        #expect(request.url.contains("acr_values=urn%3Aa"))
        #expect(IDTokenVerifier.Expectations(request: request).acrValues == (isEnforced ? ["urn:a", "urn:b"] : []))
    }

    @Test func `step 12: an acr that was asked for by preference may be missing, but not another`() throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.acrValues = ["urn:a", "urn:b"]
        try expectSuccess(expected)
        try expectSuccess(expected) { $0["acr"] = "urn:b" }
        try expectRefusal("'acr'", expected) { $0["acr"] = "urn:c" }
        try expectSuccess(.usual) { $0["acr"] = "urn:c" }
    }

    @Test func `step 12: an essential acr has to be there (Core §5.5.1.1)`() throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.essentialACRValues = ["urn:a"]
        try expectSuccess(expected) { $0["acr"] = "urn:a" }
        try expectRefusal("'acr'", expected) { $0["acr"] = "urn:c" }
        try expectRefusal("'acr'", expected)
        expected.essentialACRValues = []
        try expectSuccess(expected) { $0["acr"] = "urn:c" }
        try expectRefusal("'acr'", expected)
    }

    @Test(
        arguments: [
            (["essential": true, "values": ["urn:a", "urn:b"]], ["urn:a", "urn:b"]),
            (["essential": true, "value": "urn:a"], ["urn:a"]), (["essential": true], []), (["values": ["urn:a"]], nil),
            (["essential": false, "value": "urn:a"], nil), (nil, nil),
        ] as [(JSON, [String]?)])
    func `an essential acr is read from the claims that were asked for`(acr: JSON, expected: [String]?) throws {
        var options = AuthorizationRequest.Options()
        options.claims = ["id_token": ["acr": acr]]
        options.maxAge = 5
        let provider = try ProviderMetadata(issuer: "https://h", endpoints: [.authorization: "https://h/a"])
        let request = try AuthorizationRequest(
            client: Client(id: "a", provider: provider), redirectURI: "http://127.0.0.1:1/c", options: options)
        let expectations = IDTokenVerifier.Expectations(request: request)
        #expect(expectations.essentialACRValues == expected)
        #expect(expectations.nonce == request.nonce)
        #expect(expectations.maxAge == 5)
    }

    @Test func `step 12: an acr is compared by its code points, without normalization (RFC 8259 §8.3)`() throws {
        let (composed, decomposed) = ("urn:\u{E9}", "urn:e\u{301}")
        var (preferred, essential) = (IDTokenVerifier.Expectations.usual, IDTokenVerifier.Expectations.usual)
        (preferred.acrValues, essential.essentialACRValues) = ([composed], [composed])
        for expected in [preferred, essential] {
            try expectSuccess(expected) { $0["acr"] = .string(composed) }
            try expectRefusal("'acr'", expected) { $0["acr"] = .string(decomposed) }
        }
    }

    @Test func `step 3: a trusted audience is compared by its code points`() throws {
        var verifier = try Signer.verifier()
        verifier.client.idTokenRules.trustedAudiences = ["\u{E9}"]
        func verify(_ audience: JSON) throws -> IDToken {
            let token = try signer.token { ($0["aud"], $0["azp"]) = (["s6BhdRkqt3", audience], "s6BhdRkqt3") }
            return try verifier.verify(token, keys: signer.keys, expecting: .usual)
        }
        #expect(refusal { try verify("\u{E9}") } == nil)
        #expect(refusal { try verify("e\u{301}") }?.message.contains("expected no audience beside") == true)
    }

    @Test func `step 13: with max_age the sign-in is there and not longer ago`() throws {
        var expected = IDTokenVerifier.Expectations.usual
        expected.maxAge = 300
        try expectSuccess(expected) { $0["auth_time"] = time(-360) }
        try expectRefusal("at most 300 s ago, found one 361 s ago", expected) { $0["auth_time"] = time(-361) }
        try expectSuccess(expected) { $0["auth_time"] = time(60) }
        try expectRefusal("sign-in", expected) { $0["auth_time"] = time(61) }
        try expectRefusal("'auth_time'", expected)
        try expectSuccess(.usual) { $0["auth_time"] = time(-86_400 * 365) }
    }

    // Core §12.2
    @Test func `the nonce of a refreshed token is the one that was sent, or the one before it`() throws {
        func expectations(nonce: Secret?, previous: JSON?) throws -> IDTokenVerifier.Expectations {
            var expected = IDTokenVerifier.Expectations(nonce: previous?.string.map { Secret($0) })
            expected.previous = try Signer.verifier().verify(
                signer.token { $0["nonce"] = previous }, keys: signer.keys, expecting: expected)
            expected.nonce = nonce
            return expected
        }
        // Left out by the token before this one, and sent.
        let sent = try expectations(nonce: Signer.nonce, previous: nil)
        try expectSuccess(sent)
        try expectSuccess(sent) { $0["nonce"] = nil }
        try expectRefusal("the same 'nonce'", sent) { $0["nonce"] = "another" }
        // Not sent as far as is known: that of the token before.
        let before = try expectations(nonce: nil, previous: .string(Signer.nonce.reveal()))
        try expectSuccess(before)
        try expectRefusal("the same 'nonce'", before) { $0["nonce"] = "another" }
        // A nonce that is not a string is not the same as none.
        let never = try expectations(nonce: nil, previous: nil)
        try expectSuccess(never) { $0["nonce"] = nil }
        for nonce in [1, [], "another"] as [JSON] {
            try expectRefusal("the same 'nonce'", never) { $0["nonce"] = nonce }
        }
    }

    // oidcc-client-test-invalid-athash, oidcc-client-test-missing-athash
    @Test(arguments: [
        (SignatureAlgorithm.rs256, Digest.sha256), (.ps384, .sha384), (.es256, .sha256), (.es384, .sha384),
        (.es512, .sha512), (.edDSA, .sha512),
    ])
    func `at_hash is the left half of the access token's hash by the algorithm's digest (Core §3.1.3.8)`(
        algorithm: SignatureAlgorithm, digest: Digest
    ) throws {
        let signer = try Signer(algorithm)
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Signer.accessToken
        let hash = digest.hash(Signer.accessToken.reveal())
        let right = JSON.string(Base64URL.encode(Array(hash.prefix(hash.count / 2))))
        let verifier = try Signer.verifier(algorithms: [algorithm.rawValue])
        _ = try verifier.verify(signer.token { $0["at_hash"] = right }, keys: signer.keys, expecting: expected)
        _ = try verifier.verify(signer.token(), keys: signer.keys, expecting: expected)
        let other = digest.hash("another token")
        let wrong = [
            JSON.string(Base64URL.encode(Array(other.prefix(other.count / 2)))), .string(Base64URL.encode(hash)),
            .string(Base64URL.encode(Array(hash.suffix(hash.count / 2)))), " ", 1,
        ]
        for value in wrong {
            let error = refusal {
                try verifier.verify(signer.token { $0["at_hash"] = value }, keys: signer.keys, expecting: expected)
            }
            #expect(error?.code == .invalidIDToken)
            #expect(error?.message.contains("'at_hash'") == true)
        }
    }

    @Test func `at_hash is the one of Core appendix A.3`() throws {
        // The access token and the at_hash that OpenID Connect Core prints in its appendix A.3.
        var expected = IDTokenVerifier.Expectations.usual
        expected.accessToken = Secret("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
        try expectSuccess(expected) { $0["at_hash"] = "77QmUPtjPfzWtF2AnpK9RQ" }
        try expectRefusal("'at_hash'", expected) { $0["at_hash"] = "77QmUPtjPfzWtF2AnpK9RA" }
    }

    private func time(_ offset: Int) -> JSON { .number(.init(Int(Signer.now.timeIntervalSince1970) + offset)) }

    private func expectSuccess(
        _ expected: IDTokenVerifier.Expectations, edit: (inout JSON.Object) -> Void = { _ in }
    ) throws {
        _ = try Signer.verifier().verify(signer.token(edit), keys: signer.keys, expecting: expected)
    }

    private func expectRefusal(
        _ what: String, _ expected: IDTokenVerifier.Expectations, edit: (inout JSON.Object) -> Void = { _ in }
    ) throws {
        let token = try signer.token(edit)
        let error = try #require(
            refusal { try Signer.verifier().verify(token, keys: signer.keys, expecting: expected) })
        #expect(error.code == .invalidIDToken)
        #expect(error.message.contains(what), "\(error.message)")
    }
}
