import JOSE
import Testing

@Suite struct JWKTests {
    private func key(_ vector: String, _ changes: JSON.Object = [:]) throws -> JSON {
        var object = try #require(try Vector(vector).json["jwk"]?.object)
        for member in changes.members { object[member.name] = member.value }
        return .object(object)
    }

    @Test(arguments: Vector.signed)
    func `a public key is read, and written as it was`(name: String) throws {
        let json = try key(name)
        #expect(try JWK(json).json == json)
    }

    @Test func `the members that describe a key are read and written`() throws {
        let json = try key("rfc7515-a3", ["kid": "1", "use": "sig", "alg": "ES256", "key_ops": ["verify"]])
        let jwk = try JWK(json)
        #expect(jwk.kid == "1")
        #expect(jwk.use == "sig")
        #expect(jwk.alg == "ES256")
        #expect(jwk.keyOps == ["verify"])
        #expect(jwk.json == json)
    }

    /// RFC 7518 §6.2.2, §6.3.2, §6.4.1, RFC 8037 §2.
    @Test(arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func `a private member is refused`(member: String) throws {
        #expect(throws: Never.self) { try JWK(try key("rfc7520-4.1", ["other": "AQAB"])) }
        #expect(throws: JOSEError.self) {
            try JWK(try key("rfc7520-4.1", [member: "AQAB"]))
        }
    }

    @Test(arguments: ["n", "e", "kty"])
    func `an RSA key misses no member`(member: String) throws {
        var object = try #require(try key("rfc7520-4.1").object)
        object[member] = nil
        #expect(throws: JOSEError.self) { try JWK(.object(object)) }
    }

    @Test(arguments: ["crv", "x", "y", "kty"])
    func `an EC key misses no member`(member: String) throws {
        var object = try #require(try key("rfc7515-a3").object)
        object[member] = nil
        #expect(throws: JOSEError.self) { try JWK(.object(object)) }
    }

    @Test(arguments: ["kid", "use", "alg", "key_ops", "n", "kty"])
    func `a member of another type than its own is refused`(member: String) throws {
        #expect(throws: JOSEError.self) {
            try JWK(try key("rfc7520-4.1", [member: 1]))
        }
    }

    @Test(arguments: ["", "oct", "rsa", "OKP", "EC", "O\u{212A}P", "RSA "])
    func `a kind of key that is not known is refused`(kty: String) throws {
        #expect(throws: JOSEError.self) { try JWK(try key("rfc7520-4.1", ["kty": .string(kty)])) }
    }

    @Test func `a kind is compared byte for byte`() throws {
        // Swift takes the Kelvin sign for the letter K.
        #expect("O\u{212A}P" == "OKP")
        #expect(throws: JOSEError.self) { try JWK(try key("rfc8037-a", ["kty": "O\u{212A}P"])) }
    }

    @Test(arguments: ["P-384", "P-521", "secp256k1", "Ed25519", "p-256", ""])
    func `another curve than the coordinates' is refused`(curve: String) throws {
        #expect(throws: JOSEError.self) { try JWK(try key("rfc7515-a3", ["crv": .string(curve)])) }
    }

    @Test(arguments: ["Ed448", "X448", "P-256", "x25519"])
    func `a curve of OKP that is not known is refused`(curve: String) throws {
        #expect(throws: JOSEError.self) { try JWK(try key("rfc8037-a", ["crv": .string(curve)])) }
    }

    @Test(arguments: ["x", "y"])
    func `a coordinate is of the curve's length`(member: String) throws {
        let bytes = try #require(try key("rfc7515-a3")[member]?.string.flatMap(Base64URL.decode))
        for wrong in [Array(bytes.dropFirst(3)), [1] + bytes, [0, 0] + bytes, []] {
            #expect(throws: JOSEError.self) {
                try JWK(try key("rfc7515-a3", [member: .string(Base64URL.encode(wrong))]))
            }
        }
    }

    @Test func `a coordinate may lack its leading zeros, or have one more`() throws {
        var found: (key: SigningKey, name: String)?
        // One key in 128 has a zero.
        while found == nil {
            let key = try SigningKey.generate(.es256)
            guard case .ec(_, let x, let y) = key.publicKey.material else { throw JOSEError("expected a point") }
            if x[0] == 0 { found = (key, "x") } else if y[0] == 0 { found = (key, "y") }
        }
        let (key, name) = try #require(found)
        var object = try #require(JWK(key.publicKey.material).json.object)
        let whole = try #require(object[name]?.string.flatMap(Base64URL.decode))
        for other in [Array(whole.drop { $0 == 0 }), [0] + whole] {
            object[name] = .string(Base64URL.encode(other))
            #expect(try JWK(.object(object)).material == key.publicKey.material)
        }
    }

    @Test(arguments: [0, 31, 33])
    func `an Ed25519 key has 32 bytes`(count: Int) throws {
        let x = JSON.string(Base64URL.encode([UInt8](repeating: 1, count: count)))
        #expect(throws: JOSEError.self) { try JWK(try key("rfc8037-a", ["x": x])) }
    }

    @Test(arguments: ["AQ=AB", "AQ AB", "AQA+", "A"])
    func `a number that is not base64url is refused`(text: String) throws {
        #expect(throws: JOSEError.self) { try JWK(try key("rfc7520-4.1", ["e": .string(text)])) }
    }

    @Test(arguments: [JSON.null, "a key", 1, [], true])
    func `a key has to be an object`(json: JSON) {
        #expect(throws: JOSEError.self) { try JWK(json) }
    }
}
