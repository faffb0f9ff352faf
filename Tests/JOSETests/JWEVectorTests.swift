import JOSE
import Testing

/// RFC 7516 appendix A, RFC 7518 appendix C, RFC 7520 §5, RFC 8037 appendix A.6, and every combination by another
/// implementation.
@Suite struct JWEVectorTests {
    static let published = ["rfc7516-a1", "rfc7518-c", "rfc7520-5.2", "rfc7520-5.4", "rfc7520-5.5", "rfc8037-a6"]

    private static let combinations = Result { try Vector("jwe-combinations") }

    private func key(_ vector: Vector) throws -> RecipientKey {
        try RecipientKey(jwk: try #require(vector.json["private"]))
    }

    @Test(arguments: published)
    func `a published token is decrypted`(name: String) throws {
        let vector = try Vector(name)
        let jwe = try JWE(compact: vector.text("token"))
        #expect(try jwe.decrypted(by: key(vector)) == Array(vector.text("plaintext").utf8))
    }

    @Test(arguments: published)
    func `a published token is refused with one bit flipped in any part`(name: String) throws {
        let vector = try Vector(name)
        let key = try key(vector)
        let parts = try vector.text("token").split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for position in 1..<5 where !parts[position].isEmpty {
            var (wrong, bytes) = (parts, try #require(Base64URL.decode(parts[position])))
            bytes[bytes.count / 2] ^= 1
            wrong[position] = Base64URL.encode(bytes)
            let jwe = try JWE(compact: wrong.joined(separator: "."))
            #expect(throws: JOSEError.self) { try jwe.decrypted(by: key) }
        }
    }

    @Test func `every algorithm with every kind of key and content encryption is decrypted`() throws {
        let vector = try Self.combinations.get()
        let keys = try #require(vector.json["keys"]?.object).members.map { ($0.name, try RecipientKey(jwk: $0.value)) }
        let tokens = try #require(vector.json["tokens"]?.array)
        #expect(tokens.count == 48)
        for token in tokens {
            let (name, compact) = (try #require(token["key"]?.string), try #require(token["token"]?.string))
            let jwe = try JWE(compact: compact)
            #expect(jwe.header.alg.rawValue == token["alg"]?.string)
            #expect(jwe.header.enc.rawValue == token["enc"]?.string)
            #expect(jwe.header.kid == name && jwe.header.typ == "JWT")
            for (other, key) in keys {
                let content = try? jwe.decrypted(by: key)
                let expected = other == name ? token["plaintext"]?.string : nil
                #expect(content.map { String(decoding: $0, as: UTF8.self) } == expected, "\(name) by \(other)")
            }
        }
        let seen = tokens.map { "\($0["alg"] ?? .null) \($0["enc"] ?? .null)" }
        #expect(Set(seen).count == KeyManagementAlgorithm.allCases.count * ContentEncryption.allCases.count)
    }

    /// RFC 8725 §3.2, §3.6: RSA1_5, shared secrets and passwords, and compressed content.
    @Test func `a published token of an algorithm that is refused is refused`() throws {
        let tokens = try #require(try Vector("jwe-refused").json["tokens"]?.array)
        #expect(tokens.count == 7)
        for token in tokens {
            let (source, compact) = (try #require(token["source"]?.string), try #require(token["token"]?.string))
            let error = #expect(throws: JOSEError.self, "\(source)") { try JWE(compact: compact) }
            #expect(error?.description.contains("expected a supported algorithm") == true)
        }
    }
}
