import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §3.1.3.7 step 1, §10.2, §16.14.
struct EncryptedIDTokenTests {
    private static func recipients() throws -> [Recipient] {
        try [
            Recipient(.rsa(), .rsaOAEP, .a256GCM), Recipient(.rsa(), .rsaOAEP256, .a128CBCHS256),
            Recipient(.ec(.p256), .ecdhES, .a128GCM), Recipient(.ec(.p384), .ecdhESA192KW, .a192CBCHS384),
            Recipient(.ec(.p521), .ecdhESA256KW, .a256CBCHS512), Recipient(.x25519, .ecdhESA128KW, .a192GCM),
        ]
    }

    // rp-id_token-sig+enc, -sig+enc-a128kw, fapi1-…-encrypted-idtoken
    @Test(arguments: try recipients())
    func `an encrypted ID token is decrypted, verified and kept as the signed one`(recipient: Recipient) async throws {
        try await World.run(recipient.configuration()) { world in
            var world = world
            world.decryptionKey = try recipient.key
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let first = try #require(await state.record.idToken)
            #expect(first.subject == "248289761001")
            #expect(try JWS(compact: first.rawValue.reveal()).header.alg == "RS256")

            _ = try await state.freshAccessToken(forceRefresh: true)
            let second = try #require(await state.record.idToken)
            #expect(second.rawValue != first.rawValue && second.subject == first.subject)
            // Another process needs no key for the stored session.
            let stored = try #require(await store.record)
            #expect(try AuthStateRecord(decoding: stored.encoded(), from: "test").idToken == second)
        }
    }

    @Test func `the hint of a sign-out is the signed token, which the provider takes (Core §3.1.2.1)`() async throws {
        let recipient = try Recipient()
        try await World.run(recipient.configuration()) { world in
            var world = world
            world.decryptionKey = try recipient.key
            let record = try await world.signIn().record
            let request = try EndSessionRequest(record: record, postLogoutRedirectURI: "http://127.0.0.1:9/")
            let query = request.url.reveal().drop { $0 != "?" }.dropFirst()
            let hint = try #require(FormParameters(decoding: query)?.values("id_token_hint").first)
            #expect(hint == record.idToken?.rawValue.reveal())
            func status(_ url: String) async throws -> Int {
                let request = HTTPRequest(method: .get, url: try SecureURL(url))
                return try await world.environment.transport.send(TransportRequest(request)).status.code
            }
            #expect(try await status(request.url.reveal()) < 400)
            // It would not take the one that it has sent.
            let sent = try recipient.encrypt(hint)
            #expect(try await status(request.url.reveal().replacing(hint, with: sent)) == 400)
        }
    }

    @Test func `the app is asked for the key with the header's kid`() async throws {
        let recipient = try Recipient()
        try await World.run(recipient.configuration()) { world in
            let asked = LockedValue<[String?]>([])
            let key = try recipient.key
            var environment = world.environment
            environment.decryptionKey = { kid in
                asked.withLock { $0.append(kid) }
                return key
            }
            let response = try await world.authorize(world.client())
            _ = try await AuthState.exchange(response, store: TestStore(), environment: environment)
            #expect(asked.withLock { $0 } == ["enc-1"])
        }
    }

    private typealias Damage = @Sendable (String) throws -> String

    private static let damages: [(what: String, damage: Damage)] = [
        ("to this key", { try flipped($0, part: 4) }), ("to this key", { try flipped($0, part: 3) }),
        ("to this key", { try flipped($0, part: 1) }), ("to this key", { _ in try Recipient().encrypt("e30.e30.") }),
        // fapi1-…-encrypted-idtoken-usingrsa15
        ("found 'RSA1_5'", { try headed($0) { $0["alg"] = "RSA1_5" } }),
        ("found 'dir'", { try headed($0) { $0["alg"] = "dir" } }), ("'enc'", { try headed($0) { $0["enc"] = "none" } }),
        ("compressed", { try headed($0) { $0["zip"] = "DEF" } }), ("crit", { try headed($0) { $0["crit"] = ["exp"] } }),
        ("base64url", { $0 + "=" }),
    ]

    @Test(arguments: damages.indices)
    func `an encrypted ID token that is wrong in one respect is refused, and nothing is stored`(
        index: Int
    ) async throws {
        let (what, damage) = Self.damages[index]
        try await expectRefusal(Recipient(), what, .replaceIDToken(damage))
    }

    @Test func `an encrypted ID token must contain a signed one (Core §2)`() async throws {
        let recipient = try Recipient()
        let claims = JSON.object(["iss": "https://op.example", "sub": "root"]).serialized()
        let unsigned =
            Base64URL.encode(Array(#"{"alg":"none"}"#.utf8)) + "." + Base64URL.encode(Array(claims.utf8)) + "."
        let inside: [(String, @Sendable (String) throws -> String)] = [
            ("three parts", { _ in try recipient.encrypt(claims, [:]) }),
            ("three parts", { _ in try recipient.encrypt(claims) }),
            ("three parts", { try recipient.encrypt($0) }), ("three parts", { _ in try recipient.encrypt("") }),
            ("'iss'", { _ in try recipient.encrypt(unsigned) }),
        ]
        for (what, replace) in inside { try await expectRefusal(recipient, what, .replaceIDToken(replace)) }
        for fault in [
            Fault.editIDToken { $0.signature = .none }, .editIDToken { $0.signature = .unpublishedKey(.rs256) },
            .editIDToken { $0.claims["aud"] = "other" }, .editIDToken { $0.claims["nonce"] = "other" },
        ] {
            try await expectRefusal(recipient, "invalid ID token", fault)
        }
    }

    @Test(arguments: [
        ("JWT", true), ("jwt", true), ("application/jwt", true), (nil, true), ("json", false), ("", false),
    ])
    func `the content is a token by its type (RFC 7519 §5.2)`(type: String?, isTaken: Bool) async throws {
        let recipient = try Recipient()
        var configuration = recipient.configuration()
        configuration.clients[0].idTokenEncryption = nil
        try await World.run(configuration) { world in
            var world = world
            world.decryptionKey = try recipient.key
            var header = JSON.Object()
            header["cty"] = type.map(JSON.string)
            let sent = header
            world.provider.fault(.replaceIDToken { try recipient.encrypt($0, sent) }, at: .token)
            let error = await authError { try await world.signIn() }
            #expect((error == nil) == isTaken, "\(error?.message ?? "")")
        }
    }

    @Test func `a client that asks for encryption refuses a token in the clear`() async throws {
        for (isEncrypted, required, isTaken) in [
            (false, [], true), (false, [.userInfo], true), (false, [.idToken], false), (true, [.idToken], true),
        ] as [(Bool, Set<EncryptedResponse>, Bool)] {
            let recipient = try Recipient()
            try await World.run(recipient.configuration(idTokens: isEncrypted)) { world in
                let key = try recipient.key
                var environment = world.environment
                environment.decryptionKey = { _ in key }
                environment.requiredEncryption = required
                let response = try await world.authorize(world.client())
                let sent = environment
                let error = await authError {
                    try await AuthState.exchange(response, store: TestStore(), environment: sent)
                }
                #expect((error == nil) == isTaken)
                #expect(error == nil || error?.message.contains("found one in plain text") == true)
            }
        }
    }

    @Test func `without a key the error names the setting, and a refresh without it keeps the claims`()
        async throws
    {
        let recipient = try Recipient()
        try await World.run(recipient.configuration()) { world in
            let error = try #require(await authError { try await world.signIn() })
            #expect(error.code == .invalidConfiguration && error.message.contains("Environment.decryptionKey"))

            let (key, store) = (try recipient.key, TestStore())
            var with = world
            with.decryptionKey = key
            _ = try await with.signIn(store: store)
            let state = try #require(try await AuthState(restoring: store, environment: world.environment))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.idTokenError(at: world.clock.timestamp)?.code == .invalidConfiguration)
            let again = try #require(try await AuthState(restoring: store, environment: with.environment))
            with.clock.advance(by: 60)
            _ = try await again.freshAccessToken(forceRefresh: true)
        }
    }

    private func expectRefusal(_ recipient: Recipient, _ what: String, _ fault: Fault) async throws {
        try await World.run(recipient.configuration()) { world in
            var world = world
            world.decryptionKey = try recipient.key
            let store = TestStore()
            world.provider.fault(fault, at: .token)
            let known = world
            let error = try #require(await authError { try await known.signIn(store: store) })
            #expect(error.code == .invalidIDToken)
            #expect(error.message.contains(what), "\(error.message)")
            #expect(await store.record == nil)
        }
    }

    private static func parts(_ token: String) -> [String] {
        token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    private static func flipped(_ token: String, part: Int) throws -> String {
        var parts = parts(token)
        var bytes = try #require(Base64URL.decode(parts[part]))
        bytes[bytes.count / 2] ^= 1
        parts[part] = Base64URL.encode(bytes)
        return parts.joined(separator: ".")
    }

    private static func headed(_ token: String, _ edit: (inout JSON.Object) -> Void) throws -> String {
        var parts = parts(token)
        let bytes = try #require(Base64URL.decode(parts[0]))
        var header = try #require(try JSON(parsing: bytes).object)
        edit(&header)
        parts[0] = Base64URL.encode(Array(JSON.object(header).serialized().utf8))
        return parts.joined(separator: ".")
    }
}
