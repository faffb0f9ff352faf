import JOSE
import Testing

@Suite struct JWKSetTests {
    private func jwk(_ name: String, _ kid: String? = nil) throws -> JSON {
        var object = try #require(try Vector(name).json["jwk"]?.object)
        object["kid"] = kid.map(JSON.string)
        object["use"] = nil
        return .object(object)
    }

    /// RFC 7517 §5: a key of a kind that is not understood, or malformed, is left out; the others stay.
    @Test(
        arguments: [
            ["kty": "XYZ", "kid": "2"], ["kty": "oct", "k": "AQAB"], ["kty": "RSA", "n": "AQAB", "e": "AQAB"],
            ["kty": "EC", "crv": "P-256", "x": "AQAB", "y": "AQAB"], ["kty": "OKP", "crv": "X25519", "x": "AQAB"],
            ["kty": "OKP", "crv": "X25519", "x": "3p7bfXt9wbTTW2HC7OQ1Nz-DQ8hbeGdNrfx-FG-IK08"],
            ["kty": "RSA"], [:], "a key", nil, 1, [],
        ] as [JSON])
    func `a key that cannot be used is left out`(entry: JSON) throws {
        let set = try JWKSet(["keys": [entry, try jwk("rfc7515-a2", "1"), entry]])
        #expect(set.keys.map(\.jwk.kid) == ["1"])
    }

    @Test func `a private key is left out`() throws {
        var object = try #require(try jwk("rfc7515-a2", "1").object)
        object["d"] = "AQAB"
        #expect(try JWKSet(["keys": [.object(object)]]).keys.isEmpty)
    }

    @Test(arguments: [[:], ["keys": [:]], ["keys": nil], ["key": []], [], "keys", nil] as [JSON])
    func `a key set has to have an array of keys`(json: JSON) {
        #expect(throws: JOSEError.self) { try JWKSet(json) }
    }

    @Test func `a set may be empty`() throws {
        #expect(try JWKSet(["keys": []]).keys.isEmpty)
    }

    @Test func `a set has at most 256 entries`() throws {
        let entry: JSON = ["kty": "XYZ"]
        #expect(throws: Never.self) { try JWKSet(["keys": .array(Array(repeating: entry, count: 256))]) }
        #expect(throws: JOSEError.self) { try JWKSet(["keys": .array(Array(repeating: entry, count: 257))]) }
    }

    @Test func `a set keeps the document that it was read from`() throws {
        let json: JSON = ["keys": [try jwk("rfc7515-a2", "1")], "other": 1]
        #expect(try JWKSet(json).json == json)
    }

    @Test func `padding at the end of a member changes no key, and other characters make it none`() throws {
        let json = try jwk("rfc7515-a2", "1")
        let n = try #require(json["n"]?.string)
        var object = try #require(json.object)
        for (text, isKey) in [(n + "=", true), (n + "==", true), ("=" + n, false), (n + "= ", false), (n + "+", false)]
        {
            object["n"] = .string(text)
            #expect(((try? JWK(.object(object)))?.material == (try JWK(json).material)) == isKey, "\(text.suffix(4))")
        }
    }

    @Test func `the header's kid and algorithm choose the keys`() throws {
        let set = try JWKSet([
            "keys": [
                try jwk("rfc7515-a2", "1"), try jwk("rfc7520-4.1", "2"), try jwk("rfc7515-a3", "1"),
                try jwk("rfc7515-a4"),
            ]
        ])
        #expect(set.candidates(kid: "1", algorithm: .rs256).map(\.jwk.kid) == ["1"])
        #expect(set.candidates(kid: "1", algorithm: .es256).count == 1)
        #expect(set.candidates(kid: "2", algorithm: .es256).isEmpty)
        #expect(set.candidates(kid: "3", algorithm: .rs256).isEmpty)
        #expect(set.candidates(kid: nil, algorithm: .rs256).map(\.jwk.kid) == ["1", "2"])
        #expect(set.candidates(kid: nil, algorithm: .es512).map(\.jwk.kid) == [nil])
        #expect(set.candidates(kid: nil, algorithm: .edDSA).isEmpty)
        // One without a name is not the one that the header names.
        #expect(set.candidates(kid: "1", algorithm: .es512).isEmpty)
    }

    @Test func `a kid is compared by its code points`() throws {
        let set = try JWKSet(["keys": [try jwk("rfc7515-a2", "\u{E9}")]])
        #expect(set.candidates(kid: "\u{E9}", algorithm: .rs256).count == 1)
        #expect(set.candidates(kid: "e\u{301}", algorithm: .rs256).isEmpty)
    }
}
