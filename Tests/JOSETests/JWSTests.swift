import JOSE
import Testing

@Suite struct JWSTests {
    private func token(_ header: String, payload: String = "{}", signature: [UInt8] = [1]) -> String {
        [Array(header.utf8), Array(payload.utf8), signature].map(Base64URL.encode).joined(separator: ".")
    }

    @Test func `a token is read into header, payload and signature`() throws {
        let jws = try JWS(
            compact: token(#"{"alg":"RS256","kid":"1","typ":"JWT"}"#, payload: "hello", signature: [1, 2]))
        #expect(jws.header.alg == "RS256")
        #expect(jws.header.kid == "1")
        #expect(jws.header.typ == "JWT")
        #expect(jws.payload == Array("hello".utf8))
        #expect(jws.signature == [1, 2])
    }

    @Test(arguments: ["", ".", "..", "...", "e30", "e30.e30", "e30.e30.e30.e30", "e30.e30.e30.", ".e30.e30.e30"])
    func `a token has three parts`(text: String) {
        #expect(throws: JOSEError.self) { try JWS(compact: text) }
    }

    @Test(arguments: [("a.b", "2 parts"), ("a.b.c.d", "4 parts"), ("e30.e30.?", "other characters")])
    func `the error says how the text differs from a token`(text: String, found: String) {
        let error = #expect(throws: JOSEError.self) { try JWS(compact: text) }
        #expect(error?.description.hasSuffix("found \(found)") == true, "\(String(describing: error))")
    }

    @Test func `a token of five parts, as encryption has them, is refused`() {
        let header = token(#"{"alg":"RS256"}"#)
        #expect(throws: Never.self) { try JWS(compact: header) }
        #expect(throws: JOSEError.self) { try JWS(compact: header + ".AQ.AQ") }
    }

    @Test(arguments: ["=", " ", "\n", "+", "/", "\u{E9}", "A"])
    func `a part that is not base64url is refused`(suffix: String) {
        let parts = token(#"{"alg":"RS256"}"#, payload: "abc", signature: [1, 2, 3]).split(separator: ".").map(
            String.init)
        for position in parts.indices {
            var wrong = parts
            wrong[position] += suffix
            #expect(throws: JOSEError.self) { try JWS(compact: wrong.joined(separator: ".")) }
        }
    }

    @Test(arguments: [
        "", "alg", "[]", "null", #""RS256""#, "{}", #"{"alg":null}"#, #"{"alg":1}"#, #"{"alg":["RS256"]}"#,
        #"{"ALG":"RS256"}"#, #"{"alg":"RS256"} x"#, #"{"alg":"RS256","alg":"ES256"}"#,
        #"{"alg":"RS256","a\u006cg":"none"}"#,
        #"{"alg":"RS256","kid":1}"#, #"{"alg":"RS256","typ":1}"#,
    ])
    func `a header is an object with alg, each member once and of its type`(header: String) {
        #expect(throws: JOSEError.self) { try JWS(compact: token(header)) }
    }

    /// RFC 7515 §4.1.11: a recipient that does not know a critical extension refuses the token.
    @Test(arguments: [#"["b64"]"#, #"["exp"]"#, "[]", "null", #""b64""#, "false"])
    func `a header with crit is refused, with any value`(crit: String) {
        #expect(throws: Never.self) { try JWS(compact: token(#"{"alg":"RS256","b64":true}"#)) }
        #expect(throws: JOSEError.self) { try JWS(compact: token(#"{"alg":"RS256","crit":\#(crit)}"#)) }
    }

    @Test func `a token has at most 64 KiB`() throws {
        let header = Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))
        let rest = 64 * 1024 - header.utf8.count - 2
        let largest = header + "." + String(repeating: "A", count: rest) + "."
        #expect(largest.utf8.count == 64 * 1024)
        #expect(throws: Never.self) { try JWS(compact: largest) }
        let error = #expect(throws: JOSEError.self) { try JWS(compact: largest + "AA") }
        #expect(error?.description.contains("at most 65536 bytes") == true)
    }

    /// RFC 8725 §3.10: the key is the receiver's, never one from the token.
    @Test func `a key in the header is not used`() throws {
        let (own, attacker) = (try SigningKey.generate(.es256), try SigningKey.generate(.es256))
        let header: JSON = [
            "jwk": attacker.publicKey.json, "jku": "https://attacker.example/keys",
            "x5u": "https://attacker.example/cert",
            "x5c": ["MIIB"],
        ]
        let key = try VerificationKey(own.publicKey)
        let forged = try JWS(compact: JWS.sign([:], header: try #require(header.object), with: attacker))
        #expect(!forged.isSigned(by: key, algorithm: .es256))
        let genuine = try JWS(compact: JWS.sign([:], header: try #require(header.object), with: own))
        #expect(genuine.isSigned(by: key, algorithm: .es256))
    }
}

/// RFC 8725 §2.1, §3.1, §3.2: the caller says the algorithm, the token does not.
@Suite struct AlgorithmConfusionTests {
    @Test(arguments: ["none", "None", "NONE", "nOnE", "", "HS257", "RS256 ", "rs256"])
    func `an algorithm that does not exist verifies nowhere`(alg: String) throws {
        #expect(SignatureAlgorithm(rawValue: alg) == nil)
        #expect(MACAlgorithm(rawValue: alg) == nil)
        let header = Base64URL.encode(Array(#"{"alg":"\#(alg)"}"#.utf8))
        let jws = try JWS(compact: header + ".e30.")
        #expect(jws.signature.isEmpty)
        for name in Vector.signed {
            let key = try Vector(name).key()
            for algorithm in SignatureAlgorithm.allCases { #expect(!jws.isSigned(by: key, algorithm: algorithm)) }
        }
        for algorithm in MACAlgorithm.allCases { #expect(!jws.isSigned(bySecret: [], algorithm: algorithm)) }
    }

    @Test func `a token authenticated with the RSA key's bytes is not signed by the RSA key`() throws {
        let signer = try TestKeys.signing(.rs256)
        guard case .rsa(let modulus, _) = signer.publicKey.material else { throw JOSEError("expected an RSA key") }
        let key = try VerificationKey(signer.publicKey)
        for secret in [modulus, Array(signer.publicKey.json.serialized().utf8)] {
            let jws = try JWS(compact: JWS.sign([:], secret: secret, algorithm: .hs256))
            #expect(jws.isSigned(bySecret: secret, algorithm: .hs256))
            for algorithm in SignatureAlgorithm.allCases { #expect(!jws.isSigned(by: key, algorithm: algorithm)) }
        }
    }

    @Test func `a signature is invalid under another algorithm's name`() throws {
        let signer = try TestKeys.signing(.rs256)
        let key = try VerificationKey(signer.publicKey)
        for name in ["RS384", "PS256", "HS256", "ES256", "none"] {
            let input = Base64URL.encode(Array(#"{"alg":"\#(name)"}"#.utf8)) + ".e30"
            let jws = try JWS(compact: input + "." + Base64URL.encode(try signer.sign(Array(input.utf8))))
            #expect(key.verifies(jws.signature, of: Array(input.utf8), algorithm: .rs256))
            for algorithm in SignatureAlgorithm.allCases { #expect(!jws.isSigned(by: key, algorithm: algorithm)) }
        }
    }

    /// RFC 7518 §3.2, RFC 8725 §3.5.
    @Test(arguments: MACAlgorithm.allCases)
    func `a secret that is shorter than the digest signs and verifies nothing`(algorithm: MACAlgorithm) throws {
        let needed = algorithm.digest.byteCount
        for count in [0, 1, needed - 1, needed] {
            let secret = [UInt8](repeating: 7, count: count)
            let input = Base64URL.encode(Array(#"{"alg":"\#(algorithm.rawValue)"}"#.utf8)) + ".e30"
            let code = Base64URL.encode(algorithm.digest.hmac(key: secret, Array(input.utf8)))
            let jws = try JWS(compact: input + "." + code)
            #expect(jws.isSigned(bySecret: secret, algorithm: algorithm) == (count == needed))
            let signed = try? JWS.sign([:], secret: secret, algorithm: algorithm)
            #expect((signed != nil) == (count == needed))
        }
        let error = #expect(throws: JOSEError.self) { try algorithm.check(secret: [1]) }
        #expect(
            error?.description == "expected a secret of at least \(needed) bytes for \(algorithm.rawValue), found 1")
    }
}
