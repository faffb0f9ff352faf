import AppAuthConcurrency
import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Back-Channel Logout §2.4 to §2.7.
struct LogoutTokenTests {
    private static let event = "http://schemas.openid.net/event/backchannel-logout"
    private static var now: Int { Int(Signer.now.timeIntervalSince1970) }

    private static var claims: JSON.Object {
        [
            "iss": .string(Signer.issuer), "aud": "s6BhdRkqt3", "sub": "24400320", "sid": "session-1",
            "iat": .number(.init(now)), "exp": .number(.init(now + 120)), "jti": "bWJq",
            "events": [event: [:]],
        ]
    }

    /// A verifier whose provider publishes one key and perhaps sends its time, and the verifier's clock.
    private struct Bench {
        let signer: Signer
        let verifier: LogoutTokenVerifier
        let clock: LockedValue<Date>

        init(
            secret: String? = nil, algorithms: [String] = ["ES256", "HS256", "none"], registered: String? = nil,
            trustedAudiences: Set<String> = [], issuer: IssuerPolicy = .exact, date: Date? = nil,
            _ edit: (inout Environment) -> Void = { _ in }
        ) throws {
            let signer = try Signer()
            let clock = LockedValue(Signer.now)
            let provider = try ProviderMetadata(
                issuer: Issuer(Signer.issuer), endpoints: [.keys: Signer.issuer + "/jwks"],
                more: ["id_token_signing_alg_values_supported": .array(algorithms.map(JSON.string))])
            var client = Client(
                id: "s6BhdRkqt3", authentication: secret.map { .clientSecretBasic(Secret($0)) } ?? .none,
                provider: provider)
            client.idTokenRules.signedResponseAlgorithm = registered
            (client.idTokenRules.trustedAudiences, client.idTokenRules.issuer) = (trustedAudiences, issuer)
            var environment = Environment(
                transport: KeyServer(document: ["keys": [signer.jwk()]], date: date),
                now: { Timestamp(wall: clock.withLock { $0 }) })
            edit(&environment)
            (self.signer, self.clock) = (signer, clock)
            verifier = LogoutTokenVerifier(client: client, environment: environment)
        }

        func token(
            typ: String? = "logout+jwt", by key: SigningKey? = nil, _ edit: (inout JSON.Object) -> Void = { _ in }
        ) throws -> Secret {
            var (claims, header) = (LogoutTokenTests.claims, ["kid": "key-1"] as JSON.Object)
            edit(&claims)
            header["typ"] = typ.map(JSON.string)
            return Secret(try JWS.sign(.object(claims), header: header, with: key ?? signer.key))
        }
    }

    /// The provider's own clock decides, as far as it is to be believed.
    @Test(arguments: [(-3600, true), (3600, true), (-90_000, false), (90_000, false)] as [(Double, Bool)])
    func `a machine's clock that is wrong by a day or less refuses no token`(skew: Double, isTaken: Bool) async throws {
        let bench = try Bench(date: Signer.now)
        bench.clock.withLock { $0 += skew }
        let error = await refusal(bench, try bench.token())
        #expect(error?.code == (isTaken ? nil : .invalidLogoutToken))
        #expect(isTaken || error?.message.contains("this computer’s clock") == true)
        let old = await refusal(bench, try bench.token { $0["iat"] = .number(.init(Self.now - 181)) })
        #expect(old?.code == .invalidLogoutToken)
    }

    private func refusal(_ bench: Bench, _ token: Secret) async -> AuthError? {
        await authError { try await bench.verifier.verify(token) }
    }

    @Test(arguments: ["logout+jwt", "application/logout+jwt", "LOGOUT+JWT", "JWT", nil] as [String?])
    func `a token that is right is accepted`(typ: String?) async throws {
        let bench = try Bench()
        let logout = try await bench.verifier.verify(bench.token(typ: typ))
        #expect(logout.subject == "24400320" && logout.sessionID == "session-1" && logout.tokenID == "bWJq")
        #expect(logout.issuer == Signer.issuer && logout.issuedAt == Signer.now)
        #expect(logout.expiration == Signer.now + 120 && logout.claims["events"] != nil)
    }

    @Test(
        arguments: [
            ("sub", nil), ("sid", nil), ("sub", .null), ("sid", .null), ("nonce", .null), ("aud", ["s6BhdRkqt3"]),
            ("events", [event: ["reason": "bored"], "urn:x": [:]]),
            ("iat", .number(.init(now + 59))), ("exp", .number(.init(now - 59))), ("iat", .number(.init(now - 179))),
            ("exp", nil), ("exp", .null),
        ] as [(String, JSON?)])
    func `values that the specification leaves open are accepted`(name: String, value: JSON?) async throws {
        let bench = try Bench()
        _ = try await bench.verifier.verify(bench.token { $0[name] = value })
    }

    private static let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"

    @Test(
        arguments: [
            (tenant, .string(tenant), nil), (tenant, nil, "'tid'"), ("common", "common", "'tid'"),
            ("9188040d-6c67-4c5b-b112-36a304b66dad", .string(tenant), "'iss'"),
            ("9188040d-6c67-4c5b-b112-36a304b66dad", "9188040d-6c67-4c5b-b112-36a304b66dad", "accepted tenant"),
        ] as [(String, JSON?, String?)])
    func `with a template, the issuer is that of an accepted tenant`(
        issuer: String, tenant: JSON?, message: String?
    ) async throws {
        let bench = try Bench(issuer: .template(Signer.issuer + "/{tenantid}", tenants: [Self.tenant]))
        let error = await refusal(
            bench, try bench.token { ($0["iss"], $0["tid"]) = (.string(Signer.issuer + "/" + issuer), tenant) })
        #expect(error?.code == (message == nil ? nil : .invalidLogoutToken))
        #expect(message.map { error?.message.contains($0) == true } ?? true, "\(String(describing: error))")
    }

    /// The names are those of the OpenID Foundation's modules, where they have one.
    @Test(
        arguments: [
            ("wrong-iss", "iss", "https://other.example", "expected 'iss'"), ("no iss", "iss", nil, "expected 'iss'"),
            ("wrong-aud", "aud", "another", "expected 'aud'"), ("no aud", "aud", nil, "expected 'aud'"),
            ("an empty aud", "aud", [], "expected 'aud'"),
            ("a further aud", "aud", ["s6BhdRkqt3", "b"], "no audience beside"),
            ("no iat", "iat", nil, "expected 'iat'"), ("an iat in words", "iat", "now", "'iat' to be a number"),
            ("an iat ahead", "iat", .number(.init(now + 61)), "ahead of"),
            ("an old iat", "iat", .number(.init(now - 181)), "was received just now"),
            ("an exp in words", "exp", "soon", "'exp' to be a number"),
            ("an exp in the past", "exp", .number(.init(now - 60)), "expired 60 s ago by"),
            ("no jti", "jti", nil, "expected 'jti'"), ("an empty jti", "jti", "", "'jti'"),
            ("no-event", "events", nil, "expected 'events'"),
            ("wrong-event", "events", ["urn:x": [:]], "expected the event"),
            ("an event of another kind", "events", [event: true], "event to be an object"),
            ("events of another kind", "events", [.string(event)], "expected 'events'"),
            ("with-nonce", "nonce", "n-0S6_WzA2Mj", "expected no 'nonce'"),
            ("with an empty nonce", "nonce", "", "expected no 'nonce'"),
            ("an event of null", "events", [event: .null], "expected the event"),
            ("a broken sub", "sub", "24400320\u{FFFD}", "a string with a broken character"),
            ("a broken sid", "sid", "session-1\u{FFFD}", "a string with a broken character"),
            ("an empty sub", "sub", "", "not to be empty"),
            ("an empty sid", "sid", "", "not to be empty"), ("a sid of another kind", "sid", 1, "expected 'sid'"),
        ] as [(String, String, JSON?, String)])
    func `a token that is wrong in one respect is refused`(
        respect: String, name: String, value: JSON?, message: String
    ) async throws {
        let bench = try Bench()
        let error = await refusal(bench, try bench.token { $0[name] = value })
        #expect(error?.code == .invalidLogoutToken && error?.stage == .logout)
        #expect(error?.message.contains(message) == true, "\(respect): \(String(describing: error))")
    }

    @Test func `an audience that the app trusts in ID tokens may be named, and no other`() async throws {
        let bench = try Bench(trustedAudiences: ["project"])
        _ = try await bench.verifier.verify(try bench.token { $0["aud"] = ["s6BhdRkqt3", "project"] })
        #expect(await refusal(bench, try bench.token { $0["aud"] = ["s6BhdRkqt3", "b"] }) != nil)
    }

    @Test func `neither sub nor sid is refused`() async throws {
        let bench = try Bench()
        let token = try bench.token { ($0["sub"], $0["sid"]) = (nil, nil) }
        #expect(await refusal(bench, token)?.message.contains("found neither") == true)
    }

    @Test(arguments: ["at+jwt", "secevent+jwt", "id_token"])
    func `a token of another type is refused`(typ: String) async throws {
        let bench = try Bench()
        #expect(await refusal(bench, try bench.token(typ: typ))?.message.contains("'typ'") == true)
    }

    @Test func `alg-none is refused, also where the provider lists it`() async throws {
        let bench = try Bench()
        let parts = [["alg": "none", "typ": "logout+jwt"], JSON.object(Self.claims)]
            .map { Base64URL.encode(Array(($0 as JSON).serialized().utf8)) }
        let error = await refusal(bench, Secret(parts.joined(separator: ".") + "."))
        #expect(error?.message.contains("found 'none'") == true)
    }

    @Test func `wrong-alg is refused: another than the provider lists, and HMAC without a secret`() async throws {
        let listed = try Bench(algorithms: ["RS256"])
        #expect(await refusal(listed, try listed.token())?.message.contains("found 'ES256'") == true)
        let bench = try Bench(registered: "HS256")
        let forged = try JWS.sign(
            .object(Self.claims), header: ["typ": "logout+jwt"],
            secret: Array("a guess at a secret of 32 bytes or so".utf8),
            algorithm: .hs256)
        #expect(await refusal(bench, Secret(forged))?.message.contains("the client has no secret") == true)
    }

    @Test func `a secret signs where the client is registered so, and nowhere else`() async throws {
        let secret = "the secret, as long as it has to be"
        let bench = try Bench(secret: secret, registered: "HS256")
        func token(_ secret: String) throws -> Secret {
            Secret(
                try JWS.sign(
                    .object(Self.claims), header: ["typ": "logout+jwt"], secret: Array(secret.utf8), algorithm: .hs256))
        }
        #expect(await refusal(bench, try token("another" + secret))?.message.contains("by the client secret") == true)
        _ = try await bench.verifier.verify(token(secret))
        let listed = try Bench(secret: secret)
        let error = await refusal(listed, try token(secret))
        #expect(error?.message.contains("found 'HS256'") == true)
        let other = try Bench(secret: secret, registered: "RS256")
        #expect(await refusal(other, try other.token())?.message.contains("algorithm of 'RS256'") == true)
    }

    // Core §3.1.3.7 step 8
    @Test func `the client secret and a wrong algorithm need no keys of the provider`() async throws {
        let secret = "the secret, as long as it has to be"
        let bench = try Bench(secret: secret, registered: "HS256") { $0.transport = NoNetwork() }
        let token = try JWS.sign(
            .object(Self.claims), header: ["typ": "logout+jwt"], secret: Array(secret.utf8), algorithm: .hs256)
        _ = try await bench.verifier.verify(Secret(token))
        #expect(await refusal(bench, try bench.token())?.message.contains("found 'ES256'") == true)
    }

    @Test func `another key's signature is refused`() async throws {
        let bench = try Bench()
        let error = await refusal(bench, try bench.token(by: SigningKey.generate(.es256)))
        #expect(error?.message.contains("signature") == true)
    }

    // §2.4, §2.6 step 1
    @Test(arguments: [[], [.idToken]] as [Set<EncryptedResponse>])
    func `an encrypted token is decrypted, and its content is verified`(required: Set<EncryptedResponse>) async throws {
        let (recipient, other) = (try Recipient(), try Recipient())
        let key = try recipient.key
        let bench = try Bench {
            $0.decryptionKey = { _ in key }
            $0.requiredEncryption = required
        }
        let token = try bench.token().reveal()
        #expect(try await bench.verifier.verify(Secret(recipient.encrypt(token))).subject == "24400320")
        let wrong = try bench.token { $0["aud"] = "another" }.reveal()
        #expect(await refusal(bench, Secret(try recipient.encrypt(wrong)))?.message.contains("expected 'aud'") == true)
        let unsigned = Secret(try recipient.encrypt(JSON.object(Self.claims).serialized(), [:]))
        #expect(await refusal(bench, unsigned)?.message.contains("a signed token") == true)
        let foreign = await refusal(bench, Secret(try other.encrypt(bench.token { $0["jti"] = "2" }.reveal())))
        #expect(foreign?.code == .invalidLogoutToken && foreign?.message.contains("to this key") == true)
    }

    // §2.6 step 1: "If ID Token encryption was negotiated".
    @Test func `in the clear it is refused where ID tokens have to be encrypted`() async throws {
        let bench = try Bench { $0.requiredEncryption = [.idToken] }
        let error = await refusal(bench, try bench.token())
        #expect(error?.code == .invalidLogoutToken && error?.message.contains("found one in plain text") == true)
        let other = try Bench { $0.requiredEncryption = [.userInfo] }
        _ = try await other.verifier.verify(other.token())
    }

    @Test func `a token is valid once, and its name is free again when it could not be accepted any more`()
        async throws
    {
        let bench = try Bench()
        let token = try bench.token()
        _ = try await bench.verifier.verify(token)
        let copy = bench.verifier
        #expect(await authError { try await copy.verify(token) }?.message.contains("'jti' that was received") == true)
        let later = try bench.token { $0["jti"] = "bWJr" }
        _ = try await bench.verifier.verify(later)
        bench.clock.withLock { $0 += 241 }
        let fresh = try bench.token {
            $0["iat"] = .number(.init(Self.now + 241))
            $0["exp"] = .number(.init(Self.now + 361))
        }
        _ = try await bench.verifier.verify(fresh)
    }

    @Test func `a token is valid again after a store refused to remove the session (§2.8)`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let client = await state.record.client
            let idToken = try #require(await state.record.idToken)
            let claims = Self.claims
            world.provider.fault(
                .editIDToken { draft in
                    (draft.header["typ"], draft.claims) = ("logout+jwt", claims)
                    (draft.claims["iss"], draft.claims["aud"]) = (.string(idToken.issuer), .string(client.id))
                    (draft.claims["sub"], draft.claims["sid"]) = (.string(idToken.subject), nil)
                }, at: .token)
            let form = FormParameters.encode(await state.record.refreshToken?.reveal() ?? "")
            var request = HTTPRequest(method: .post, url: try SecureURL(world.provider.url(.token)))
            request.headerFields[.contentType] = "application/x-www-form-urlencoded"
            let body = "grant_type=refresh_token&client_id=demo&refresh_token=\(form)"
            let response = try await world.transport.send(TransportRequest(request, body: Array(body.utf8)))
            let token = Secret(try #require(try JSON(parsing: response.body)["id_token"]?.string))

            let verifier = LogoutTokenVerifier(client: client, environment: world.environment)
            let logout = try await verifier.verify(token)
            await store.refuse(with: TestStore.Refusal())
            #expect(await authError { try await state.end(by: logout) }?.code == .store)
            #expect(await store.record != nil)
            let again = try await verifier.verify(token)
            #expect(again == logout)
            #expect(await authError { try await state.end(by: again) }?.code == .store)
            await store.refuse(with: nil)
            // By another object, as a server has it that reads each session for itself, and by the same one.
            let once = try await verifier.verify(token)
            #expect(try await state.end(by: once))
            #expect(await store.record == nil)
            #expect(
                await authError { try await verifier.verify(token) }?.message.contains("'jti' that was received")
                    == true)
            once.release()
            _ = try await verifier.verify(token)
        }
    }

    /// The provider's clock is a minute ahead: its token can be accepted for a minute longer, and so can its copy.
    @Test(arguments: [(0, "'jti'"), (179, "'jti'"), (181, "'jti'"), (239, "'jti'"), (240, "'jti'"), (241, "just now")])
    func `a copy of a token is refused for as long as the token could be accepted`(
        seconds: Double, message: String
    ) async throws {
        let bench = try Bench()
        let token = try bench.token {
            ($0["iat"], $0["exp"]) = (.number(.init(Self.now + 60)), .number(.init(Self.now + 3600)))
        }
        let (unseen, copy) = (
            try bench.token { claims in
                (claims["iat"], claims["exp"]) = (.number(.init(Self.now + 60)), .number(.init(Self.now + 3600)))
                claims["jti"] = "another"
            }, bench.verifier
        )
        _ = try await bench.verifier.verify(token)
        bench.clock.withLock { $0 += seconds }
        let error = await authError { try await copy.verify(token) }
        #expect(error?.code == .invalidLogoutToken && error?.message.contains(message) == true, "\(error as Any)")
        // One that was not there before is accepted to the last second.
        #expect((await refusal(bench, unseen) == nil) == (message == "'jti'"))
    }

    @Test func `a clock that is set back makes no copy acceptable`() async throws {
        let bench = try Bench()
        let token = try bench.token { $0["exp"] = .number(.init(Self.now + 3600)) }
        bench.clock.withLock { $0 += 100 }
        _ = try await bench.verifier.verify(token)
        bench.clock.withLock { $0 -= 100 }
        #expect(await refusal(bench, token)?.message.contains("'jti'") == true)
        _ = try await bench.verifier.verify(bench.token { $0["jti"] = "another" })
    }

    @Test func `a token that was refused does not use up its name`() async throws {
        let bench = try Bench()
        #expect(await refusal(bench, try bench.token { $0["aud"] = "another" }) != nil)
        _ = try await bench.verifier.verify(bench.token())
    }

    @Test(arguments: [("", 0), ("logout_token=a&logout_token=b", 2), ("token=a", 0)])
    func `a form has one token`(form: String, count: Int) async throws {
        let bench = try Bench()
        let error = await authError { try await bench.verifier.verify(fromForm: form) }
        #expect(error?.message.contains("found \(count)") == true)
        _ = try await bench.verifier.verify(fromForm: "logout_token=\(bench.token().reveal())&more=1")
    }

    @Test func `a text that is no token is refused without being repeated`() async throws {
        let bench = try Bench()
        let error = try #require(await refusal(bench, Secret("not-a-token-at-all")))
        #expect(error.code == .invalidLogoutToken && !"\(error)".contains("not-a-token-at-all"))
    }
}

/// Publishes a key set, and nothing else.
private struct KeyServer: HTTPTransport {
    let document: JSON
    var date: Date?

    func send(_ exchange: TransportRequest) async throws -> TransportResponse {
        var fields: HTTPFields = [.contentType: "application/json"]
        fields[.date] = date?.httpDate
        return TransportResponse(.init(status: .ok, headerFields: fields), body: Array(document.serialized().utf8))
    }
}
