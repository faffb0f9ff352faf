import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Aggregated and distributed claims (OpenID Connect Core §5.6.2).
struct ClaimSourceTests {
    private static let bank = "https://bank.example"

    /// A provider that has two claims of a bank's with its own, and two more at the bank's place.
    private func run(
        accessToken: String? = "for-the-bank-alone", _ extra: JSON.Object = .init(), providerAhead skew: Double = 0,
        _ test: (World, AuthState, ProviderMetadata) async throws -> Void
    ) async throws {
        let signer = try SigningKey.generate(.es256)
        var configuration = LocalProvider.Configuration.demo
        var (near, far): (JSON.Object, JSON.Object) = (
            ["iban": "DE02", "limit": 500], ["credit_score": 650, "debt": 0]
        )
        for member in extra.members { (near[member.name], far[member.name]) = (member.value, member.value) }
        configuration.users[0].foreignClaims = [
            ForeignClaims(near, by: Self.bank, key: signer),
            ForeignClaims(far, by: Self.bank, key: signer, isDistributed: true, accessToken: accessToken),
        ]
        try await World.run(configuration, providerAhead: skew) { world in
            // The bank publishes its key where a test can serve it.
            var jwk = signer.publicKey
            jwk.kid = "claims-1"
            let keys: JSON = ["keys": [jwk.json]]
            let state = try await world.signIn()
            world.provider.fault(.editDocument { $0 = keys.object ?? .init() }, at: .keys, times: nil)
            let trusted = try ProviderMetadata(
                issuer: Issuer(Self.bank), endpoints: [.keys: world.provider.url(.keys)],
                more: ["id_token_signing_alg_values_supported": ["ES256"]])
            try await test(world, state, trusted)
        }
    }

    private func reader(_ world: World, _ trusted: ProviderMetadata? = nil) async throws -> ClaimSourceReader {
        ClaimSourceReader(
            client: try await world.client(), trusting: [trusted].compactMap(\.self), environment: world.environment)
    }

    @Test func `claims of both kinds are fetched, and verified with the keys of their issuer`() async throws {
        try await run { world, state, trusted in
            let sources = try await state.userInfo().sources
            #expect(sources.map(\.name) == ["src1", "src2"])
            #expect(sources.map(\.claimNames) == [["iban", "limit"], ["credit_score", "debt"]])
            let near = try await reader(world, trusted).claims(of: sources[0])
            #expect(near.isVerified && near.issuer == Self.bank && near.source == "src1")
            #expect(near.claims["iban"]?.string == "DE02" && near.claims["limit"] == 500)
            #expect(near.claims.members.names.count == 2)
            #expect(world.provider.count(.foreignClaims) == 0)
            let far = try await reader(world, trusted).claims(of: sources[1])
            #expect(far.isVerified && far.claims["credit_score"] == 650)
            let sent = try #require(world.provider.log(.foreignClaims).first)
            #expect(sent.headers[.authorization] == "Bearer for-the-bank-alone")
            #expect(sent.headers[.accept] == "application/jwt" && sent.query.entries.isEmpty)
        }
    }

    @Test func `without a token of its own a source gets none`() async throws {
        try await run(accessToken: nil) { world, state, trusted in
            let sources = try await state.userInfo().sources
            _ = try await reader(world, trusted).claims(of: sources[1])
            #expect(world.provider.log(.foreignClaims).first?.headers[.authorization] == nil)
        }
    }

    @Test func `no keys are fetched for claims of an issuer that the app has not named`() async throws {
        try await run { world, state, _ in
            let before = world.provider.count(.keys)
            for source in try await state.userInfo().sources {
                let claims = try await reader(world).claims(of: source)
                #expect(!claims.isVerified && claims.issuer == Self.bank)
            }
            #expect(world.provider.count(.keys) == before)
        }
    }

    @Test func `claims that another has signed in a trusted issuer's name are refused`() async throws {
        try await run { world, state, trusted in
            var jwk = try SigningKey.generate(.es256).publicKey
            jwk.kid = "claims-1"
            let document = jwk.json
            world.provider.clearFaults(at: .keys)
            world.provider.fault(.editDocument { $0 = ["keys": [document]] }, at: .keys, times: nil)
            for source in try await state.userInfo().sources {
                let error = await authError { try await reader(world, trusted).claims(of: source) }
                #expect(error?.code == .invalidResponse && error?.message.contains("signature") == true)
            }
        }
    }

    @Test func `the keys of an issuer are fetched once, for however many sources`() async throws {
        try await run { world, state, trusted in
            let (sources, before) = (try await state.userInfo().sources, world.provider.count(.keys))
            let reader = try await reader(world, trusted)
            for source in sources + sources { #expect(try await reader.claims(of: source).isVerified) }
            #expect(world.provider.count(.keys) == before + 1)
        }
    }

    @Test func `sources whose names differ in their code points only are two`() throws {
        let claims = Claims([
            "_claim_names": ["a": "\u{E9}", "b": "e\u{301}"],
            "_claim_sources": ["\u{E9}": ["JWT": "of-a"], "e\u{301}": ["JWT": "of-b"]],
        ])
        let sources = try claims.sources
        #expect(Set(sources.map(\.claimNames)) == [["a"], ["b"]])
        #expect(sources.first { $0.claimNames == ["b"] }?.content == .aggregated(Secret("of-b")))
    }

    // RFC 7519 §4.1.3
    @Test(arguments: ["other", ["other"], [], "Demo"] as [JSON], [false, true])
    func `claims for another audience are refused`(audience: JSON, isTrusted: Bool) async throws {
        try await run(["aud": audience]) { world, state, trusted in
            for source in try await state.userInfo().sources {
                let reader = try await reader(world, isTrusted ? trusted : nil)
                let error = await authError { try await reader.claims(of: source) }
                #expect(error?.code == .invalidResponse, "\(String(describing: error))")
                #expect(error?.message.contains("expected 'aud' to contain 'demo', found '") == true)
            }
        }
    }

    @Test(arguments: ["demo", ["other", "demo"], .null] as [JSON])
    func `claims for this client and for others are accepted`(audience: JSON) async throws {
        try await run(["aud": audience]) { world, state, trusted in
            for source in try await state.userInfo().sources {
                #expect(try await reader(world, trusted).claims(of: source).isVerified)
            }
        }
    }

    @Test(
        arguments: [
            ("exp", 1_749_999_940, "it expired 60 s ago by"), ("nbf", 1_750_000_061, "becomes valid in 61 s by"),
            ("exp", "soon", "'exp'"),
        ]
            as [(String, JSON, String)])
    func `claims that are over, or not yet, are refused`(name: String, value: JSON, message: String) async throws {
        try await run([name: value]) { world, state, trusted in
            for source in try await state.userInfo().sources {
                let error = await authError { try await reader(world, trusted).claims(of: source) }
                #expect(error?.code == .invalidResponse && error?.message.contains(message) == true)
            }
        }
    }

    @Test func `the times are checked with a leeway`() async throws {
        try await run(["exp": 1_749_999_941, "nbf": 1_750_000_060]) { world, state, trusted in
            for source in try await state.userInfo().sources {
                _ = try await reader(world, trusted).claims(of: source)
            }
        }
    }

    /// The bank's own clock is known from its keys.
    @Test(arguments: [("nbf", 1_750_003_600, true), ("exp", 1_750_003_000, false)] as [(String, JSON, Bool)])
    func `the times of a trusted issuer are those of its clock`(name: String, value: JSON, isTaken: Bool) async throws {
        try await run([name: value], providerAhead: 3600) { world, state, trusted in
            for source in try await state.userInfo().sources {
                let error = await authError { try await reader(world, trusted).claims(of: source) }
                #expect((error == nil) == isTaken)
                #expect(isTaken || error?.message.contains("by the provider’s clock") == true)
                // If an issuer's clock is unknown, this machine's clock counts.
                let other = await authError { try await reader(world).claims(of: source) }
                #expect((other == nil) != isTaken)
            }
        }
    }

    @Test func `no redirect is followed, and nothing but a small JWT is taken`() async throws {
        try await run { world, state, trusted in
            let source = try #require(try await state.userInfo().sources.last)
            let faults: [(Fault, AuthError.Code)] = [
                (.redirect(to: world.provider.url(.api)), .invalidResponse), (.htmlPage, .invalidResponse),
                (.editReply { $0.headers[.contentType] = "application/json" }, .invalidResponse),
                (.oversize(bytes: 65 << 10), .invalidResponse), (.status(.notFound), .invalidResponse),
                (.editReply { $0.body = Array("e30.e30".utf8) }, .invalidResponse),
            ]
            for (fault, code) in faults {
                world.provider.fault(fault, at: .foreignClaims)
                let error = await authError { try await reader(world, trusted).claims(of: source) }
                #expect(error?.code == code, "\(fault): \(String(describing: error))")
            }
            #expect(world.provider.count(.api) == 0)
            #expect(try await reader(world, trusted).claims(of: source).isVerified)
        }
    }

    @Test func `a token of another kind is no claims`() async throws {
        let key = try SigningKey.generate(.es256)
        let token = try JWS.sign(["iban": "DE02"], header: ["typ": "at+jwt"], with: key)
        let claims = Claims(["_claim_names": ["iban": "a"], "_claim_sources": ["a": ["JWT": .string(token)]]])
        try await World.run { world in
            let source = try #require(try claims.sources.first)
            let error = await authError { try await reader(world).claims(of: source) }
            #expect(error?.message.contains("expected 'typ' to be JWT, found 'at+jwt'") == true)
        }
    }

    @Test(
        arguments: [
            (["a": "s"], nil, "JSON object"), (["a": "s"], ["t": ["JWT": "x"]], "JSON object"),
            (["a": 1], ["s": ["JWT": "x"]], "'a' to be a string"), ("a", ["s": ["JWT": "x"]], "JSON object"),
            (["a": "s"], ["s": [:]], "either 'JWT' or 'endpoint'"),
            (["a": "s"], ["s": ["JWT": "x", "endpoint": "https://b.example/"]], "either 'JWT' or 'endpoint'"),
            (["a": "s"], ["s": ["endpoint": "http://b.example/"]], "'endpoint'"),
            (["a": "s"], ["s": ["endpoint": "https://b.example/", "access_token": "a\nb"]], "'access_token'"),
        ] as [(JSON, JSON?, String)])
    func `a list that is wrong in one respect is refused`(names: JSON, sources: JSON?, message: String) throws {
        var members: JSON.Object = ["_claim_names": names]
        members["_claim_sources"] = sources
        let error = refusal { try Claims(members).sources }
        #expect(
            error?.code == .invalidResponse && error?.message.contains(message) == true, "\(String(describing: error))")
    }

    @Test func `there are sources where there are names, and not too many`() throws {
        #expect(try Claims(["sub": "1"]).sources.isEmpty)
        func claims(_ count: Int) -> Claims {
            var (names, sources) = (JSON.Object(), JSON.Object())
            for number in 1...count {
                names["c\(number)"] = .string("s\(number)")
                sources["s\(number)"] = ["endpoint": "https://b.example/"]
            }
            return Claims(["_claim_names": .object(names), "_claim_sources": .object(sources)])
        }
        #expect(try claims(16).sources.count == 16)
        #expect(refusal { try claims(17).sources } != nil)
    }

    @Test func `neither JWT nor token is printed`() throws {
        let claims = Claims([
            "_claim_names": ["a": "s", "b": "t"],
            "_claim_sources": [
                "s": ["JWT": "the-jwt-itself"], "t": ["endpoint": "https://b.example/", "access_token": "the-token"],
            ],
        ])
        var text = ""
        for source in try claims.sources { dump(source, to: &text) }
        #expect(!text.contains("the-jwt-itself") && !text.contains("the-token") && text.contains("b.example"))
    }
}
