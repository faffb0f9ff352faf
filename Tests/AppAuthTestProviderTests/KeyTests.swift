import JOSE
import AppAuthTestProvider
import Testing

@Suite struct KeyTests {
    private func kids(_ provider: LocalProvider) async throws -> Set<String> {
        let document = try #require(try await Wire.send("GET", provider.url(.keys)).json)
        return Set(try #require(document["keys"]?.array).compactMap { $0["kid"]?.string })
    }

    private func kid(_ session: TokenReply) throws -> String {
        let token = try JWS(compact: #require(session.idToken))
        return try #require(token.header.kid)
    }

    @Test func `the key set has a public key for each algorithm and nothing private`() async throws {
        try await withLocalProvider { provider in
            let document = try #require(try await Wire.send("GET", provider.url(.keys)).json)
            let keys = try #require(document["keys"]?.array)
            #expect(keys.compactMap { $0["alg"]?.string } == ["RS256", "PS256", "ES256", "EdDSA"])
            // The reader refuses private members.
            for key in keys { #expect(throws: Never.self) { try JWK(key) } }
            #expect(keys.allSatisfy { $0["use"]?.string == "sig" })
        }
    }

    @Test func `keys are announced, rotated and withdrawn`() async throws {
        try await withLocalProvider { provider in
            let first = try await kids(provider)
            let oldKid = try kid(provider.mintSession())
            #expect(first.contains(oldKid))

            try provider.announceSigningKeys()
            let announced = try await kids(provider)
            #expect(announced.count == 8)
            #expect(announced.isSuperset(of: first))
            #expect(try kid(provider.mintSession()) == oldKid)

            try provider.rotateSigningKeys()
            let newKid = try kid(provider.mintSession())
            #expect(try await kids(provider) == announced)
            #expect(announced.subtracting(first).contains(newKid))

            try provider.withdrawOldSigningKeys()
            #expect(try await kids(provider) == announced.subtracting(first))
            _ = try await verifiedClaims(provider.mintSession().idToken, provider)
        }
    }

    @Test func `after a rotation without an announcement, the key is unknown`() async throws {
        try await withLocalProvider { provider in
            let first = try await kids(provider)
            try provider.rotateSigningKeys()
            #expect(!first.contains(try kid(provider.mintSession())))
        }
    }
}
