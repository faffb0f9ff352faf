import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §5.3.2, §5.3.4.
struct EncryptedUserInfoTests {
    private func run(
        signed: Bool = false, encrypted: Bool = true, _ test: (World, Recipient) async throws -> Void
    ) async throws {
        let recipient = try Recipient()
        var configuration = recipient.configuration(idTokens: false, userInfo: encrypted)
        if signed { configuration.clients[0].userInfoAlgorithm = .es256 }
        try await World.run(configuration) { world in
            var world = world
            world.decryptionKey = try recipient.key
            try await test(world, recipient)
        }
    }

    // rp-userinfo-sig+enc, rp-userinfo-enc
    @Test(arguments: [true, false])
    func `a response that is encrypted is decrypted, and verified where it is signed`(signed: Bool) async throws {
        try await run(signed: signed) { world, _ in
            let state = try await world.signIn()
            #expect(try await state.userInfo().name == "Alice Liddell")
            guard signed else { return }
            try world.provider.rotateSigningKeys()
            try world.provider.withdrawOldSigningKeys()
            #expect(try await state.userInfo().name == "Alice Liddell")
        }
    }

    @Test(
        arguments: [
            ("'sub'", .editDocument { $0["sub"] = "other" }),
            ("'iss'", .editDocument { $0["iss"] = "https://evil.example" }),
            ("'aud'", .editDocument { $0["aud"] = "other" }),
            ("to this key", .editReply { $0.body[$0.body.count - 5] = $0.body[$0.body.count - 5] == 65 ? 66 : 65 }),
            ("base64url", .editReply { $0.body += Array("=".utf8) }),
        ] as [(String, Fault)], [true, false])
    func `an encrypted response that is wrong in one respect is refused`(
        pair: (what: String, fault: Fault), signed: Bool
    ) async throws {
        try await run(signed: signed) { world, _ in
            let state = try await world.signIn()
            world.provider.fault(pair.fault, at: .userInfo)
            let error = try #require(await authError { try await state.userInfo() })
            #expect(error.code == .invalidResponse && error.stage == .userInfo)
            #expect(error.message.contains(pair.what), "\(error.message)")
        }
    }

    @Test func `a response that claims to be signed has to be, and by the provider`() async throws {
        try await run { world, recipient in
            let state = try await world.signIn()
            let claims: JSON = ["sub": "248289761001"]
            let other = try SharedKeys.key(.rs256, -1)
            let cases: [(String, String, JSON.Object)] = [
                ("three parts", claims.serialized(), ["cty": "JWT"]),
                (
                    "a matching key", try JWS.sign(claims, header: ["kid": "other"], with: other),
                    ["cty": "JWT"]
                ),
                ("a matching key", try JWS.sign(claims, header: ["kid": "other"], with: other), [:]),
                ("found neither", claims.serialized(), ["cty": "text/plain"]), ("three parts", "[]", [:]),
                ("three parts", try recipient.encrypt(claims.serialized(), [:]), ["cty": "JWT"]),
                ("names", #"{"sub":"248289761001","sub":"248289761002"}"#, [:]),
            ]
            for (what, content, header) in cases {
                let body = Array(try recipient.encrypt(content, header).utf8)
                world.provider.fault(
                    .editReply { $0.body = body }, at: .userInfo, times: 1)
                let error = try #require(await authError { try await state.userInfo() })
                #expect(error.code == .invalidResponse)
                #expect(error.message.contains(what) || what == "names", "\(error.message)")
            }
            #expect(try await state.userInfo().name == "Alice Liddell")
        }
    }

    @Test(arguments: [true, false])
    func `a client that asks for encryption refuses a response in the clear`(signed: Bool) async throws {
        try await run(signed: signed, encrypted: false) { world, recipient in
            let key = try recipient.key
            for (required, isTaken) in [([], true), ([.idToken], true), ([.userInfo], false)]
                as [(Set<EncryptedResponse>, Bool)]
            {
                var environment = world.environment
                environment.decryptionKey = { _ in key }
                let record = try await world.signIn().record
                environment.requiredEncryption = required
                let state = try await AuthState(record: record, store: TestStore(), environment: environment)
                let error = await authError { try await state.userInfo() }
                #expect((error == nil) == isTaken)
                #expect(error == nil || error?.message.contains("found one in plain text") == true)
            }
        }
    }
}
