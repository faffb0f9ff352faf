import JOSE
import Testing

@Suite struct ThumbprintTests {
    /// The modulus of RFC 7638 §3.1.
    static let modulus = """
        0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3\
        oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA\
        ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-\
        kEgU8awapJzKnqDKgw
        """

    @Test func `an RSA key has the thumbprint of RFC 7638 §3.1, with any other members`() throws {
        let bare = try JWK(["e": "AQAB", "kty": "RSA", "n": .string(Self.modulus)])
        #expect(bare.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        let full = try JWK([
            "kty": "RSA", "n": .string(Self.modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29", "use": "sig",
            "key_ops": ["verify"], "x5t": "abc",
        ])
        #expect(full.thumbprint == bare.thumbprint)
        let other = try JWK(["e": "Aw", "kty": "RSA", "n": .string(Self.modulus)])
        #expect(other.thumbprint != bare.thumbprint)
    }

    @Test func `an Ed25519 key has the thumbprint of RFC 8037 appendix A.3`() throws {
        #expect(try Vector("rfc8037-a").jwk().thumbprint == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test func `the thumbprint of an EC key is the digest of crv, kty, x and y`() throws {
        let vector = try Vector("rfc7515-a3")
        let (x, y) = (try #require(vector.json["jwk"]?["x"]?.string), try #require(vector.json["jwk"]?["y"]?.string))
        let members = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        #expect(try vector.jwk().thumbprint == Base64URL.encode(Digest.sha256.hash(members)))
    }
}
