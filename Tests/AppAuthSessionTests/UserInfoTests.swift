import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §5.3.
struct UserInfoTests {
    // oidcc-client-test-userinfo-bearer-header, …-scope-userinfo-claims
    @Test func `claims come by one GET with the token in the header`() async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.openID, .email])
            let claims = try await state.userInfo()
            #expect(claims.subject == "248289761001")
            #expect(claims.email == "alice@example.com")
            #expect(claims.name == nil)
            let sent = try #require(world.provider.log(.userInfo).first)
            #expect(sent.method == .get)
            #expect(sent.query.entries.isEmpty)
            #expect(sent.headers[.authorization] == (try await state.freshAccessToken().authorization))
            #expect(world.provider.count(.userInfo) == 1)
        }
    }

    // oidcc-client-test-userinfo-invalid-sub
    @Test(
        arguments: [
            "other", "", "248289761001 ", "24828976100\u{FF11}", "248289761001\u{FFFD}", nil, .null, 248_289_761_001,
        ] as [JSON?])
    func `another sub than the ID token's is refused (Core §5.3.2)`(subject: JSON?) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.editDocument { $0["sub"] = subject }, at: .userInfo)
            let error = try #require(await authError { try await state.userInfo() })
            #expect(error.code == .invalidResponse)
            #expect(error.stage == .userInfo)
            #expect(error.message.contains("'sub'"))
            #expect(await state.record.end == nil)
        }
    }

    @Test(arguments: [
        Fault.htmlPage, .respond(.json(["248289761001"])),
        .respond(Reply(.ok, type: "application/json", #"{"sub":"248289761001","sub":"248289761002"}"#)),
        .respond(Reply(.ok, type: "application/jwt", #"{"sub":"248289761001"}"#)),
        .respond(Reply(.ok, type: "text/plain", "sub: 248289761001")), .redirect(to: "https://evil.example"),
        .status(.internalServerError),
    ])
    func `a response that is no strict JSON object is refused`(fault: Fault) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(fault, at: .userInfo)
            #expect(await authError { try await state.userInfo() }?.code == .invalidResponse)
            world.provider.fault(.respond(.json(["sub": "248289761001"])), at: .userInfo)
            #expect(try await state.userInfo().subject == "248289761001")
        }
    }

    @Test(arguments: [nil, "text/plain", "text/html"])
    func `a JSON object counts, whatever type a server gives it`(type: String?) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let body = #"{"sub":"248289761001"}"#
            let reply = type.map { Reply(.ok, type: $0, body) } ?? Reply(.ok, body: Array(body.utf8))
            world.provider.fault(.respond(reply), at: .userInfo)
            #expect(try await state.userInfo().subject == "248289761001")
        }
    }

    // oidcc-client-test-userinfo-signed
    @Test(arguments: [SignatureAlgorithm.rs256, .ps256, .es256, .edDSA])
    func `a signed response is verified`(algorithm: SignatureAlgorithm) async throws {
        try await World.run(signing(algorithm)) { world in
            let state = try await world.signIn()
            #expect(try await state.userInfo().name == "Alice Liddell")
            try world.provider.rotateSigningKeys()
            try world.provider.withdrawOldSigningKeys()
            #expect(try await state.userInfo().name == "Alice Liddell")
        }
    }

    @Test(
        arguments: [
            ("found 'https://evil.example'", .editDocument { $0["iss"] = "https://evil.example" }),
            ("'iss'", .editDocument { $0["iss"] = "" }), ("'aud'", .editDocument { $0["aud"] = "" }),
            ("'aud' to contain 'demo', found 'other'", .editDocument { $0["aud"] = "other" }),
            ("'aud'", .editDocument { $0["aud"] = 1 }),
            ("'sub'", .editDocument { $0["sub"] = "other" }),
            ("signature", .editReply { $0.body[$0.body.count - 20] = $0.body[$0.body.count - 20] == 65 ? 66 : 65 }),
            ("base64url", .editReply { $0.body += Array("=".utf8) }),
            ("three parts", .editReply { $0.body = Array("e30.e30".utf8) }),
            ("algorithm", .editReply { $0.body = Array("eyJhbGciOiJub25lIn0.eyJzdWIiOiIyNDgyODk3NjEwMDEifQ.".utf8) }),
        ] as [(String, Fault)])
    func `a signed response that is wrong in one respect is refused`(what: String, fault: Fault) async throws {
        try await World.run(signing(.es256)) { world in
            let state = try await world.signIn()
            world.provider.fault(fault, at: .userInfo)
            let error = try #require(await authError { try await state.userInfo() })
            #expect(error.code == .invalidResponse)
            #expect(error.stage == .userInfo)
            #expect(error.message.contains(what), "\(error.message)")
        }
    }

    @Test(arguments: [nil, .null] as [JSON?])
    func `a signed response may leave out iss and aud`(value: JSON?) async throws {
        try await World.run(signing(.es256)) { world in
            let state = try await world.signIn()
            world.provider.fault(
                .editDocument {
                    $0["iss"] = value
                    $0["aud"] = value
                }, at: .userInfo)
            #expect(try await state.userInfo().subject == "248289761001")
        }
    }

    @Test func `a name that the provider has cut in the middle of a character is shown`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let body = Array(#"{"sub":"248289761001","name":"Alice \ud83d"}"#.utf8)
            world.provider.fault(.editReply { $0.body = body }, at: .userInfo)
            #expect(try await state.userInfo().name == "Alice \u{FFFD}")
        }
    }

    @Test func `the algorithms of userinfo are those of its own list`() async throws {
        for (listed, isTaken) in [(["ES256"], true), (["RS256"], false)] as [(JSON, Bool)] {
            try await World.run(signing(.es256)) { world in
                world.provider.fault(
                    .editDocument {
                        $0["id_token_signing_alg_values_supported"] = ["RS256"]
                        $0["userinfo_signing_alg_values_supported"] = listed
                    }, at: .openIDConfiguration)
                let state = try await world.signIn()
                let error = await authError { try await state.userInfo() }
                #expect((error == nil) == isTaken)
            }
        }
    }

    @Test func `without an endpoint the error names it`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["userinfo_endpoint"] = nil }, at: .openIDConfiguration)
            let state = try await world.signIn()
            let error = try #require(await authError { try await state.userInfo() })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains("userinfo_endpoint"))
        }
    }

    @Test func `a token without the scope is refused by the server, and not refreshed (RFC 6750 §3.1)`() async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.profile, .offlineAccess])
            let error = try #require(await authError { try await state.userInfo() })
            #expect(error.code == "insufficient_scope")
            #expect(error.httpStatus == 403)
            #expect(world.provider.count(.token) == 1)
        }
    }

    private func signing(_ algorithm: SignatureAlgorithm) -> LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].userInfoAlgorithm = algorithm
        return configuration
    }
}
