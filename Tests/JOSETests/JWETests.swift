import JOSE
import Testing

@Suite struct JWETests {
    private static let rsa = Result { try TestKeys.recipient() }

    /// A key of each kind with the algorithms that it is for.
    static let kinds: [(String, [KeyManagementAlgorithm])] = [
        ("RSA", [.rsaOAEP, .rsaOAEP256]), ("P-256", [.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW]),
        ("P-384", [.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW]),
        ("P-521", [.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW]),
        ("X25519", [.ecdhES, .ecdhESA128KW, .ecdhESA192KW, .ecdhESA256KW]),
    ]

    static func key(_ name: String) throws -> RecipientKey {
        if name == "RSA" { return try rsa.get() }
        return try RecipientKey.generate(Curve(rawValue: name).map(PrivateKey.Kind.ec) ?? .x25519)
    }

    @Test(arguments: kinds)
    func `a key decrypts its own tokens, and another key does not`(
        name: String, algorithms: [KeyManagementAlgorithm]
    ) throws {
        let (key, other) = (try Self.key(name), try Self.key(name == "RSA" ? "P-256" : name))
        for alg in algorithms {
            for enc in ContentEncryption.allCases {
                for content in [[], [7], Array("a message".utf8), [UInt8](repeating: 7, count: 16)] {
                    let jwe = try JWE(compact: JWE.encrypt(content, to: key.publicKey, alg, enc))
                    #expect(try jwe.decrypted(by: key) == content, "\(alg) \(enc)")
                    #expect(throws: JOSEError.self) { try jwe.decrypted(by: other) }
                }
            }
        }
    }

    @Test func `only a key's own algorithms encrypt to it`() throws {
        for (name, algorithms) in Self.kinds {
            let key = try Self.key(name).publicKey
            for alg in KeyManagementAlgorithm.allCases {
                let token = try? JWE.encrypt([], to: key, alg, .a128GCM)
                #expect((token != nil) == algorithms.contains(alg))
            }
        }
    }

    @Test func `no two tokens are the same`() throws {
        let key = try Self.key("P-256").publicKey
        let tokens = try (0..<20).map { _ in try JWE.encrypt([1], to: key, .ecdhESA128KW, .a256GCM) }
        // Header (with the ephemeral key), encrypted key, and initialization vector.
        for part in 0..<3 { #expect(Set(tokens.map { $0.split(separator: ".")[part] }).count == 20) }
    }

    @Test func `the header is the caller's beside alg, enc and epk`() throws {
        let key = try Self.key("P-256")
        let header: JSON.Object = [
            "alg": "none", "enc": "none", "epk": 1, "kid": "1", "cty": "JWT", "typ": "JWT", "apu": "QWxpY2U",
            "apv": "Qm9i",
        ]
        let jwe = try JWE(compact: JWE.encrypt([1], header: header, to: key.publicKey, .ecdhES, .a128GCM))
        #expect(jwe.header.alg == .ecdhES && jwe.header.enc == .a128GCM)
        #expect(jwe.header.kid == "1" && jwe.header.cty == "JWT" && jwe.header.typ == "JWT")
        #expect(try jwe.decrypted(by: key) == [1])
    }

    @Test(arguments: [
        "", ".", "....", "a.b.c", "e30.e30.e30.e30", "e30.e30.e30.e30.e30.e30", "e30....", "e30.AA.AA.AA.A=",
    ])
    func `a text that is no encrypted token is refused`(text: String) {
        #expect(throws: JOSEError.self) { try JWE(compact: text) }
    }

    @Test(arguments: [("e30.e30.e30.e30", "4 parts"), ("e30.AA.AA.AA.A=", "other characters")])
    func `the error says how the text differs from an encrypted token`(text: String, found: String) {
        let error = #expect(throws: JOSEError.self) { try JWE(compact: text) }
        #expect(error?.description.hasSuffix("found \(found)") == true, "\(String(describing: error))")
    }

    @Test(arguments: [("", false), ("a.b.c", false), ("a.b.c.d.e", true), ("....", true), ("a.b.c.d.e.f", false)])
    func `a token of five parts is an encrypted one (RFC 7516 §9)`(text: String, isEncrypted: Bool) {
        #expect(JWE.hasForm(text) == isEncrypted)
    }

    @Test func `a token has at most 128 KiB, and so many dots are no matter`() throws {
        let key = try Self.key("P-256")
        let largest = try JWE(
            compact: JWE.encrypt(
                [UInt8](repeating: 7, count: JWS.maximumCount), to: key.publicKey, .ecdhESA256KW, .a256CBCHS512))
        #expect(try largest.decrypted(by: key).count == JWS.maximumCount)
        let error = #expect(throws: JOSEError.self) {
            try JWE(compact: String(repeating: "A", count: JWE.maximumCount + 1))
        }
        #expect(error?.description.contains("at most 131072 bytes") == true)
        #expect(throws: JOSEError.self) { try JWE(compact: String(repeating: ".", count: JWE.maximumCount)) }
    }
}

/// The members of a header: RFC 7516 §4, RFC 8725.
@Suite struct JWEHeaderTests {
    private static let key = Result { try RecipientKey.generate(.ec(.p256)) }

    /// A token whose content is real and whose header is not the one that it was encrypted with.
    private func token(_ edit: (inout JSON.Object) -> Void) throws -> String {
        let token = try JWE.encrypt([1], to: Self.key.get().publicKey, .ecdhES, .a128GCM)
        var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let bytes = try #require(Base64URL.decode(parts[0]))
        var header = try #require(try JSON(parsing: bytes).object)
        edit(&header)
        parts[0] = Base64URL.encode(Array(JSON.object(header).serialized().utf8))
        return parts.joined(separator: ".")
    }

    @Test(
        arguments: [
            ("alg", nil), ("alg", "none"), ("alg", "RSA1_5"), ("alg", "dir"), ("alg", "A128KW"), ("alg", "A256GCMKW"),
            ("alg", "PBES2-HS256+A128KW"), ("alg", "ecdh-es"), ("alg", 1), ("enc", nil), ("enc", "A128CBC"),
            ("enc", "none"),
            ("enc", "a128gcm"), ("enc", 1), ("epk", nil), ("epk", 1), ("epk", [:]),
            ("epk", ["kty": "oct", "k": "AQAB"]),
            ("zip", "DEF"), ("zip", 1), ("crit", ["exp"]), ("crit", []), ("crit", .null), ("apu", "A"), ("apv", "="),
            ("apu", 1),
            ("kid", 1), ("cty", 1), ("typ", 1), ("alg", .null), ("enc", .null), ("epk", .null),
        ] as [(String, JSON?)])
    func `a header is refused for one member`(name: String, value: JSON?) throws {
        #expect(throws: Never.self) { try JWE(compact: try token { _ in }) }
        #expect(throws: JOSEError.self) { try JWE(compact: try token { $0[name] = value }) }
    }

    @Test func `a member with two values is refused`() throws {
        let rest = try token { _ in }.drop { $0 != "." }
        let header = Base64URL.encode(Array(#"{"alg":"RSA-OAEP","enc":"A128GCM","alg":"RSA-OAEP-256"}"#.utf8))
        #expect(throws: JOSEError.self) { try JWE(compact: header + rest) }
    }

    /// RFC 8725 §3.10: a header can neither contain its own key nor have one fetched.
    @Test(arguments: ["jku", "x5u", "jwk", "x5c"])
    func `a member that contains a key is ignored`(name: String) throws {
        let jwe = try JWE(
            compact: JWE.encrypt(
                [1], header: [name: "https://attacker.example/key"], to: Self.key.get().publicKey, .ecdhES, .a128GCM))
        #expect(try jwe.decrypted(by: Self.key.get()) == [1])
    }

    @Test func `an epk with a private part is refused`() throws {
        #expect(throws: JOSEError.self) {
            try JWE(
                compact: token { header in
                    guard var epk = header["epk"]?.object else { return }
                    epk["d"] = "AQAB"
                    header["epk"] = .object(epk)
                })
        }
    }

    @Test func `a vector and a tag of another length are refused`() throws {
        let token = try token { _ in }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for (position, count) in [(2, 0), (2, 11), (2, 13), (2, 16), (4, 0), (4, 12), (4, 15), (4, 17)] {
            var wrong = parts
            wrong[position] = Base64URL.encode([UInt8](repeating: 1, count: count))
            let error = #expect(throws: JOSEError.self) { try JWE(compact: wrong.joined(separator: ".")) }
            #expect(error?.description.contains("of 12 bytes and a tag of 16") == true)
        }
    }
}
