import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// The secrets of a whole session are printed nowhere, even at trace level.
struct SecrecyTests {
    @Test func `no line, error or description holds a secret, in a session from sign-in to sign-out`() async throws {
        try await World.run { world in
            let texts = Texts()
            let store = TestStore()
            let state = try await signIn(world, store, texts)
            let first = await state.record
            texts.add(first)
            texts.add(await state.record.client)
            texts.add(try await state.freshAccessToken())
            texts.add(try await state.send(api(world)).head)
            texts.add(try await state.userInfo())
            texts.add(try await state.freshAccessToken(forceRefresh: true))
            try await fail(world, state, texts)
            let last = await state.record
            texts.add(try EndSessionRequest(record: last, postLogoutRedirectURI: "http://127.0.0.1:9/"))
            texts.add(await state.revokeTokens())
            try await state.forget()
            texts.add(await state.record)
            texts.add(await authError { try await state.freshAccessToken() })

            let tokens = [first, last].flatMap(tokens)
            try #require(tokens.count == 6)
            let secrets = try secrets(world) + tokens
            for line in world.log.lines { texts.add(line) }
            #expect(world.log.lines.count > 20)
            #expect(texts.all.count > 60)
            for text in texts.all {
                for secret in secrets {
                    #expect(!text.contains(secret.value), "\(secret.name) in a text of \(text.utf8.count) bytes")
                }
            }
        }
    }

    @Test func `no line or error holds a secret when a sign-in fails`() async throws {
        let faults: [(Endpoint, Fault)] = [
            (.token, .status(.badRequest, json: ["error": "invalid_grant"])), (.token, .htmlPage), (.token, .reset()),
            (.token, .editIDToken { $0.claims["nonce"] = "other" }), (.token, .editIDToken { $0.claims["iat"] = 0 }),
            (.keys, .status(.internalServerError)), (.token, .editDocument { $0["token_type"] = "mac" }),
            (.token, .editDocument { $0["expires_in"] = "soon" }),
            (.token, .editDocument { $0["refresh_token"] = "\n" }),
        ]
        for (endpoint, fault) in faults {
            try await World.run { world in
                world.provider.fault(fault, at: endpoint)
                let texts = Texts()
                let error = try #require(await authError { try await signIn(world, TestStore(), texts) })
                texts.add(error)
                let secrets = try secrets(world)
                for line in world.log.lines { texts.add(line) }
                for text in texts.all {
                    for secret in secrets {
                        #expect(!text.contains(secret.value), "\(secret.name) in '\(error.message)'")
                    }
                }
            }
        }
    }

    /// By the call that apps use, as a client with a secret.
    private func signIn(_ world: World, _ store: TestStore, _ texts: Texts) async throws -> AuthState {
        let secret = try #require(RegisteredClient.demoConfidential.secret)
        var signIn = try SignIn(
            issuer: Issuer(world.provider.issuer), clientID: "demo-confidential", clientSecret: Secret(secret),
            appName: "Test",
            environment: world.environment)
        let browser = world.browser
        signIn.browser = Browser { url in Task { try await browser.visit(url) } }
        signIn.observe = { event in
            // The URL for the browser is shown to the user on purpose.
            if case .authorization = event { return }
            texts.add(event)
        }
        return try await signIn.run(store: store)
    }

    /// Errors of every kind, with servers that repeat the request.
    private func fail(_ world: World, _ state: AuthState, _ texts: Texts) async throws {
        let record = await state.record
        let refreshToken = try #require(record.refreshToken).reveal()
        let accessToken = try #require(record.accessToken).value.reveal()
        let secret = try #require(RegisteredClient.demoConfidential.secret)
        for sent in [refreshToken, accessToken, secret] {
            let body: JSON = ["error": "invalid_request", "error_description": .string("bad: \(sent)")]
            world.provider.fault(.status(.badRequest, json: body), at: .token)
            world.provider.fault(.status(.badRequest, json: body), at: .userInfo)
            texts.add(await authError { try await state.freshAccessToken(forceRefresh: true) })
            if sent == accessToken { texts.add(await authError { try await state.userInfo() }) }
            world.provider.clearFaults()
        }
        world.provider.fault(.reset(), at: .token)
        texts.add(await authError { try await state.freshAccessToken(forceRefresh: true) })
        world.provider.fault(.editDocument { $0["sub"] = "other" }, at: .userInfo)
        texts.add(await authError { try await state.userInfo() })
        let elsewhere = HTTPRequest(method: .get, scheme: "http", authority: "op.example", path: "/?t=\(accessToken)")
        texts.add(await authError { try await state.send(TransportRequest(elsewhere)) })
    }

    private func api(_ world: World) throws -> TransportRequest {
        TransportRequest(HTTPRequest(method: .get, url: try SecureURL(world.provider.url(.api))))
    }

    private func tokens(of record: AuthStateRecord) -> [(name: String, value: String)] {
        [
            ("access token", record.accessToken?.value), ("refresh token", record.refreshToken),
            ("ID token", record.idToken?.rawValue),
        ].compactMap { name, secret in secret.map { (name, $0.reveal()) } }
    }

    /// The secrets that went over the wire: also as a form encodes them.
    private func secrets(_ world: World) throws -> [(name: String, value: String)] {
        var secrets: [(name: String, value: String)] = [("password", "looking-glass")]
        for request in world.provider.log {
            for name in ["code", "code_verifier", "refresh_token", "token", "client_secret"] {
                secrets += request.form.values(name).map { (name, $0) }
            }
            if request.endpoint == .authorization {
                for name in ["state", "nonce"] { secrets += request.query.values(name).map { (name, $0) } }
            }
            let field = request.headers[.authorization]?.split(separator: " ").last.map(String.init)
            secrets += [field].compactMap(\.self).map { ("Authorization", $0) }
        }
        secrets.append(("client secret", try #require(RegisteredClient.demoConfidential.secret)))
        let names = Set(secrets.map(\.name))
        try #require(names.isSuperset(of: ["code", "code_verifier", "state", "nonce", "Authorization"]))
        return secrets + secrets.map { ($0.name, FormParameters.encode($0.value)) }
    }

    private final class Texts: Sendable {
        private let texts = LockedValue<[String]>([])

        var all: [String] { texts.withLock { $0 } }

        func add(_ value: some Sendable) {
            var dumped = ""
            dump(value, to: &dumped)
            let texts = ["\(value)", String(reflecting: value), dumped]
            self.texts.withLock { $0 += texts }
        }
    }
}
