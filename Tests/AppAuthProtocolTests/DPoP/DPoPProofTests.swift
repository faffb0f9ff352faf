import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9449 §4.2: the contents of a proof.
struct DPoPProofTests {
    private let now = Timestamp(wall: Date(timeIntervalSince1970: 1_750_000_000))

    @Test(arguments: DPoPAlgorithm.allCases)
    func `a proof is signed by the session's key, and names it`(algorithm: DPoPAlgorithm) throws {
        let proof = DPoP(key: try DPoPKey(algorithm))
        var request = Self.request
        try proof.prove(&request, at: now)
        let token = try #require(request.headerFields[.dpop])
        let header = try jwtPart(0, token)
        #expect(header["typ"]?.string == "dpop+jwt")
        #expect(header["alg"]?.string == algorithm.rawValue)
        let jwk = try JWK(header["jwk"] ?? .null)
        #expect(jwk.thumbprint == proof.key.thumbprint)
        // Only the public key, and nothing that its thumbprint does not need.
        #expect((jwk.kid, jwk.use, jwk.alg) == (nil, nil, nil))
        let signature = try JWS(compact: token)
        let known = try #require(SignatureAlgorithm(rawValue: algorithm.rawValue))
        #expect(try signature.isSigned(by: VerificationKey(jwk), algorithm: known))
        #expect(try !signature.isSigned(by: VerificationKey(SigningKey.generate(known).publicKey), algorithm: known))
    }

    @Test func `it holds for one method, URL and time, and is never the same twice`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        try proof.prove(&request, at: now)
        let first = try jwtPart(1, request.headerFields[.dpop] ?? "")
        #expect(first["htm"]?.string == "POST")
        #expect(first["htu"]?.string == "https://op.example:8443/token")
        #expect(first["iat"]?.int == 1_750_000_000)
        #expect(first["ath"] == nil)
        #expect(first["nonce"] == nil)
        try proof.prove(&request, at: now)
        #expect(request.headerFields[values: .dpop].count == 1)
        let second = try jwtPart(1, request.headerFields[.dpop] ?? "")
        #expect(first["jti"]?.string?.count == 22)
        #expect(first["jti"] != second["jti"])
    }

    @Test func `with an access token it holds the token's hash (§4.2, §7)`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        // RFC 9449 §7.1.
        let token = AccessToken(
            value: Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"), type: .dpop, received: now, lifetime: nil)
        try proof.prove(&request, with: token, at: now)
        let claims = try jwtPart(1, request.headerFields[.dpop] ?? "")
        #expect(claims["ath"]?.string == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
        #expect(token.authorization == "DPoP Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    }

    @Test(arguments: [
        (400, "", true), (401, "", true), (403, "", false), (401, #"DPoP error="use_dpop_nonce""#, true),
        (401, #"dPoP error="use_dpop_nonce""#, true), (401, #"Bearer error="use_dpop_nonce""#, false),
        (403, #"DPoP error="use_dpop_nonce""#, false), (401, #"DPoP error="invalid_token""#, false),
    ])
    // fapi2-…-rs-dpop-auth-scheme-case-insensitivity
    func `a server that wants a nonce gets it in the next proof`(status: Int, challenge: String, isDue: Bool) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let first = try proof.prove(&request, at: now)
        let response = Self.response(status, nonce: "n-1", challenge: challenge, error: "use_dpop_nonce")
        #expect(proof.mustProveAgain(response, to: first, at: now) == isDue)
        let second = try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["nonce"]?.string == "n-1")
        // A server that is not content with its own nonce, or gives none, is not asked for ever.
        #expect(!proof.mustProveAgain(response, to: second, at: now))
        let without = Self.response(status, challenge: challenge, error: "use_dpop_nonce")
        #expect(!proof.mustProveAgain(without, to: second, at: now))
    }

    @Test func `each proof is checked by its own contents, even if another request has obtained newer ones`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let (one, other) = (try proof.prove(&request, at: now), try proof.prove(&request, at: now))
        let nonce = Self.response(400, nonce: "n-1", error: "use_dpop_nonce")
        #expect(proof.mustProveAgain(nonce, to: one, at: now))
        #expect(proof.mustProveAgain(nonce, to: other, at: now))
        let (early, late) = (try proof.prove(&request, at: now), try proof.prove(&request, at: now))
        let clock = Self.response(400, error: "invalid_dpop_proof", date: "Sun, 15 Jun 2025 16:06:40 GMT")
        #expect(proof.mustProveAgain(clock, to: early, at: now))
        #expect(proof.mustProveAgain(clock, to: late, at: now))
    }

    @Test func `a nonce is its server's own, and the latest counts`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var (here, there) = (Self.request, Self.request)
        there.authority = "api.example"
        let sent = try proof.prove(&here, at: now)
        for response in [Self.response(200, nonce: "n-1"), Self.response(200, nonce: "n-2"), Self.response(200)] {
            #expect(!proof.mustProveAgain(response, to: sent, at: now))
        }
        try proof.prove(&here, at: now)
        try proof.prove(&there, at: now)
        #expect(try jwtPart(1, here.headerFields[.dpop] ?? "")["nonce"]?.string == "n-2")
        #expect(try jwtPart(1, there.headerFields[.dpop] ?? "")["nonce"] == nil)
    }

    @Test(arguments: [
        ("https", "OP.example:8443", true), ("http", "op.example:8443", false), ("https", "op.example", false),
    ])
    func `a server is a scheme, a host and a port`(scheme: String, authority: String, isSame: Bool) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let proven = try proof.prove(&request, at: now)
        _ = proof.mustProveAgain(Self.response(200, nonce: "n-1"), to: proven, at: now)
        (request.scheme, request.authority) = (scheme, authority)
        try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["nonce"]?.string == (isSame ? "n-1" : nil))
    }

    @Test func `the cache of servers is limited`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        func learn(_ number: Int) throws {
            var request = Self.request
            request.authority = "\(number).example"
            let proven = try proof.prove(&request, at: now)
            _ = proof.mustProveAgain(Self.response(200, nonce: "n-\(number)"), to: proven, at: now)
        }
        func nonce(_ number: Int) throws -> String? {
            var request = Self.request
            request.authority = "\(number).example"
            try proof.prove(&request, at: now)
            return try jwtPart(1, request.headerFields[.dpop] ?? "")["nonce"]?.string
        }
        for number in 1...64 { try learn(number) }
        try learn(1)
        #expect(try nonce(1) == "n-1")
        #expect(try nonce(64) == "n-64")
        try learn(65)
        #expect(try nonce(1) == nil)
        #expect(try nonce(65) == "n-65")
    }

    /// RFC 9449 §8.1: NQCHAR, that is, printable ASCII without the quotation mark and the backslash.
    @Test(arguments: ["!", "#[]~", String(repeating: "n", count: 4096)])
    func `a nonce of all kinds of characters that it may have is sent back`(nonce: String) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let sent = try proof.prove(&request, at: now)
        #expect(proof.mustProveAgain(Self.response(400, nonce: nonce, error: "use_dpop_nonce"), to: sent, at: now))
        try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["nonce"]?.string == nonce)
    }

    @Test(arguments: ["", "a b", "a\u{22}b", "a\\b", String(repeating: "n", count: 4097)])
    func `an invalid nonce is not sent back`(nonce: String) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let sent = try proof.prove(&request, at: now)
        #expect(!proof.mustProveAgain(Self.response(400, nonce: nonce, error: "use_dpop_nonce"), to: sent, at: now))
        try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["nonce"] == nil)
    }

    @Test func `a machine whose clock is wrong proves by the server's time`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let response = Self.response(400, error: "invalid_dpop_proof", date: "Sun, 15 Jun 2025 16:06:40 GMT")
        let first = try proof.prove(&request, at: now)
        #expect(proof.mustProveAgain(response, to: first, at: now))
        let second = try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["iat"]?.int == 1_750_003_600)
        #expect(!proof.mustProveAgain(response, to: second, at: now))
        // If the clocks agree, the error is not about the time.
        let other = DPoP(key: try DPoPKey(.es256))
        let near = Self.response(400, error: "invalid_dpop_proof", date: "Sun, 15 Jun 2025 15:06:41 GMT")
        let agreed = try other.prove(&request, at: now)
        #expect(!other.mustProveAgain(near, to: agreed, at: now))
    }

    /// It may name no other, and asks for one if the next proof has none. A proof without a nonce is refused for another reason.
    @Test(
        arguments: [
            ("n-1", "n-2", true), ("n-1", "n-1", true), ("n-1", nil, true), (nil, "n-2", false), (nil, nil, false),
        ] as [(String?, String?, Bool)])
    func `an old nonce may be called an invalid proof`(known: String?, new: String?, isDue: Bool) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let first = try proof.prove(&request, at: now)
        _ = proof.mustProveAgain(Self.response(200, nonce: known), to: first, at: now)
        let sent = try proof.prove(&request, at: now)
        let response = Self.response(400, nonce: new, error: "invalid_dpop_proof")
        #expect(proof.mustProveAgain(response, to: sent, at: now) == isDue)
        #expect(try proof.prove(&request, at: now).nonce == (new == known ? nil : new))
    }

    @Test(arguments: [(-11, true), (-10, false), (10, false), (11, true)])
    func `a clock that is more than ten seconds off, either way, is a reason to prove again`(
        seconds: Double, isDue: Bool
    ) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let sent = try proof.prove(&request, at: now)
        let response = Self.response(400, error: "invalid_dpop_proof", date: (now.wall + seconds).httpDate)
        #expect(proof.mustProveAgain(response, to: sent, at: now) == isDue)
    }

    @Test func `the server's time advances between two proofs`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let sent = try proof.prove(&request, at: now)
        _ = proof.mustProveAgain(Self.response(200, date: "Sun, 15 Jun 2025 16:06:40 GMT"), to: sent, at: now)
        try proof.prove(&request, at: Timestamp(wall: now.wall + 100))
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["iat"]?.int == 1_750_003_700)
    }

    @Test func `a server's latest time counts`() throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        for (date, seconds) in [
            ("Sun, 15 Jun 2025 16:06:40 GMT", 3600), ("Sun, 15 Jun 2025 17:06:40 GMT", 7200), (nil, 7200),
        ] {
            let proven = try proof.prove(&request, at: now)
            _ = proof.mustProveAgain(Self.response(200, date: date), to: proven, at: now)
            try proof.prove(&request, at: now)
            #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["iat"]?.int == 1_750_000_000 + seconds)
        }
    }

    @Test(arguments: [nil, "Tue, 17 Jun 2025 15:06:41 GMT"])
    func `a time that is not there, or days away, is no reason to prove again`(date: String?) throws {
        let proof = DPoP(key: try DPoPKey(.es256))
        var request = Self.request
        let response = Self.response(400, error: "invalid_dpop_proof", date: date)
        let proven = try proof.prove(&request, at: now)
        #expect(!proof.mustProveAgain(response, to: proven, at: now))
        try proof.prove(&request, at: now)
        #expect(try jwtPart(1, request.headerFields[.dpop] ?? "")["iat"]?.int == 1_750_000_000)
    }

    @Test func `a provider that does not know the algorithm is not asked`() throws {
        func client(_ known: [JSON]?) throws -> Client {
            var more = JSON.Object()
            more["dpop_signing_alg_values_supported"] = known.map(JSON.array)
            let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:], more: more)
            return Client(id: "c", provider: provider, dpop: .edDSA)
        }
        #expect(refusal { try DPoP(for: client(["ES256"])) }?.code == .invalidMetadata)
        #expect(try DPoP(for: client(["ES256", "EdDSA"]))?.key.algorithm == .edDSA)
        #expect(try DPoP(for: client(nil)) != nil)
    }

    @Test func `a key on a token is stored as its URI, and belongs to that token`() throws {
        let uri = "pkcs11:token=Work;id=%01;type=private"
        let stored: JSON = ["algorithm": "ES256", "pem": .string(uri), "thumbprint": "abc"]
        let key = try DPoPKey(stored: StoredObject(stored))
        #expect(key.stored == stored && key.provider == .pkcs11)
        #expect(key.isIn(.pkcs11(token: "pkcs11:token=Work")) && key.isIn(.pkcs11(token: "pkcs11:token=Work;id=%01")))
        for other in ["tpm2", "pkcs11:token=Wor", "pkcs11:token=Work;id=%02"] {
            #expect(!key.isIn(KeyProvider(rawValue: other)))
        }
    }

    private static let request = HTTPRequest(
        method: .post, scheme: "https", authority: "op.example:8443", path: "/token?x=1")

    private static func response(
        _ status: Int, nonce: String? = nil, challenge: String = "", error: String? = nil, date: String? = nil
    ) -> TransportResponse {
        var response = HTTPResponse(status: .init(code: status))
        if let nonce { response.headerFields[.dpopNonce] = nonce }
        if let date { response.headerFields[.date] = date }
        if !challenge.isEmpty { response.headerFields[.wwwAuthenticate] = challenge }
        let body = challenge.isEmpty ? error.map { #"{"error":"\#($0)"}"# } ?? "" : ""
        return TransportResponse(response, body: Array(body.utf8))
    }
}
