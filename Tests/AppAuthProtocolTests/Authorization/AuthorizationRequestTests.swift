import AppAuthProtocol
import JOSE
import TestFixtures
import Testing

/// RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1.
struct AuthorizationRequestTests {
    private let redirectURI = "http://127.0.0.1:41235/callback"

    @Test func `the parameters on the wire are these and no others`() throws {
        let request = try AuthorizationRequest(client: client(), redirectURI: redirectURI)
        let (endpoint, items) = try decoded(request)
        #expect(endpoint == "https://op.example/authorize")
        #expect(
            items.map(\.name) == [
                "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
                "code_challenge_method", "prompt",
            ])
        #expect(
            items.map(\.value) == [
                "code", "s6BhdRkqt3", redirectURI, "openid profile offline_access", request.state.reveal(),
                request.nonce?.reveal(), request.pkce.codeChallenge, "S256", "consent",
            ])
    }

    @Test func `everything that can be asked for is sent as it was given`() throws {
        var options = AuthorizationRequest.Options()
        options.prompt = [.login, .selectAccount]
        options.loginHint = "jané+1@example.org"
        options.maxAge = 0
        options.acrValues = ["urn:a", "urn:b"]
        options.uiLocales = ["fr-CA", "en"]
        options.display = "page"
        options.claims = ["id_token": ["acr": ["essential": true]], "userinfo": ["näme": nil]]
        options.resources = ["https://api.example/a?b=c", "https://api.example/b"]
        options.responseMode = .formPost
        options.idTokenHint = Secret("e30.e30.AA")
        options.additionalParameters = [.init("vendor", "a&b=c"), .init("日本", " ")]
        let request = try AuthorizationRequest(
            client: client(), redirectURI: redirectURI, scope: [.openID], options: options)
        let items = try decoded(request).items.dropFirst(8)
        #expect(
            items.map(\.name) == [
                "prompt", "login_hint", "max_age", "acr_values", "ui_locales", "display", "claims", "resource",
                "resource", "response_mode", "id_token_hint", "vendor", "日本",
            ])
        #expect(
            items.map(\.value) == [
                "login select_account", "jané+1@example.org", "0", "urn:a urn:b", "fr-CA en", "page",
                #"{"id_token":{"acr":{"essential":true}},"userinfo":{"näme":null}}"#, "https://api.example/a?b=c",
                "https://api.example/b", "form_post", "e30.e30.AA", "a&b=c", " ",
            ])
        #expect(request.url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }

    @Test(arguments: ["?tenant=a%20b", "?tenant=a%20b&", "?"])
    func `the query of the endpoint stays as it is (RFC 6749 §3.1)`(query: String) throws {
        let request = try AuthorizationRequest(
            client: client("https://op.example/authorize" + query), redirectURI: redirectURI)
        #expect(request.url.hasPrefix("https://op.example/authorize" + query))
        let items = try decoded(request).items.filter { $0.name != "tenant" }
        #expect(items.first?.name == "response_type")
    }

    @Test(arguments: ["\u{0}", "\r\nSet-Cookie: a", "e\u{301}", "👩‍👩‍👧", "\u{202E}", "%00", "a#b?c", "\u{10FFFF}"])
    func `any Unicode arrives as it was given`(text: String) throws {
        var options = AuthorizationRequest.Options()
        options.loginHint = text
        options.additionalParameters = [.init("x" + text, text)]
        let request = try AuthorizationRequest(client: client(), redirectURI: redirectURI, options: options)
        let items = try decoded(request).items
        #expect(items.first { $0.name == "login_hint" }.map { Array($0.value.utf8) } == Array(text.utf8))
        #expect(items.last.map { Array($0.value.utf8) } == Array(text.utf8))
        #expect(items.last.map { Array($0.name.utf8) } == Array("x\(text)".utf8))
    }

    @Test(arguments: AuthorizationRequest.Options.reservedParameters.sorted())
    func `a parameter of the library's own is refused`(name: String) throws {
        let error = try #require(refusal { try request(with: [.init(name, "x")]) })
        #expect(error.code == .invalidConfiguration)
        #expect(error.message.contains("'\(name)'"))
        #expect(refusal { try request(with: [.init(name + "_", "x")]) } == nil)
    }

    @Test func `the expected values of the ID token may be among the extra parameters`() throws {
        let acr = #"{"id_token":{"acr":{"essential":true}}}"#
        let request = try request(
            with: [.init("max_age", "60"), .init("acr_values", "a b"), .init("claims", acr), .init("x", "y")])
        #expect(request.options.maxAge == 60)
        #expect(request.options.acrValues == ["a", "b"])
        #expect(request.options.claims?["id_token"]?["acr"]?["essential"] == true)
        #expect(request.options.additionalParameters == [.init("x", "y")])
        #expect(request.url.contains("max_age=60&acr_values=a+b"))
        for age in ["soon", "-1"] {
            #expect(refusal { try self.request(with: [.init("max_age", age)]) }?.code == .invalidConfiguration)
        }
        #expect(refusal { try self.request(with: [.init("claims", "[]")]) }?.code == .invalidConfiguration)
    }

    @Test func `the response mode may be among the extra parameters`() throws {
        let request = try request(with: [.init("response_mode", "form_post")])
        #expect(request.options.responseMode == .formPost)
        #expect(request.options.additionalParameters.isEmpty)
        #expect(request.url.contains("response_mode=form_post"))
        // A fragment never leaves the browser.
        let error = refusal { try self.request(with: [.init("response_mode", "fragment")]) }
        #expect(error?.code == .invalidConfiguration)
    }

    // Multiple Response Types §5, Core §3.3.2.1.
    @Test(
        arguments: [
            (nil, false), (.query, false), (.jwt, false), (.formPost, true), (.queryJWT, true), (.formPostJWT, true),
        ] as [(AuthorizationRequest.ResponseMode?, Bool)])
    func `an ID token beside the code needs openid, and a mode that keeps it out of the fragment`(
        mode: AuthorizationRequest.ResponseMode?, isTaken: Bool
    ) throws {
        var options = AuthorizationRequest.Options()
        (options.responseType, options.responseMode) = (.codeIDToken, mode)
        func error(_ scope: [Scope]) throws -> AuthError? {
            let client = try client()
            return refusal {
                try AuthorizationRequest(client: client, redirectURI: redirectURI, scope: scope, options: options)
            }
        }
        #expect(try error([.openID])?.code == (isTaken ? nil : .invalidConfiguration))
        #expect(try error([.profile])?.code == .invalidConfiguration)
    }

    @Test(arguments: [(nil, true), (["query", "form_post"], true), (["query", "fragment"], false), ([], false)])
    func `a provider that names its response modes has to have the one that is asked for`(
        _ known: [String]?, _ isKnown: Bool
    ) throws {
        var document: JSON.Object = [
            "issuer": "https://op.example", "authorization_endpoint": "https://op.example/authorize",
        ]
        document["response_modes_supported"] = known.map { .array($0.map(JSON.string)) }
        let client = Client(id: "a", provider: try ProviderMetadata(document: .object(document)))
        var options = AuthorizationRequest.Options()
        #expect(refusal { try AuthorizationRequest(client: client, redirectURI: redirectURI, options: options) } == nil)
        options.responseMode = .formPost
        let error = refusal { try AuthorizationRequest(client: client, redirectURI: redirectURI, options: options) }
        #expect(error?.code == (isKnown ? nil : .invalidMetadata))
    }

    @Test func `no parameter is sent twice (RFC 6749 §3.1)`() throws {
        #expect(refusal { try request(with: [.init("a", "1"), .init("b", "1")]) } == nil)
        #expect(refusal { try request(with: [.init("a", "1"), .init("a", "1")]) }?.code == .invalidConfiguration)
        #expect(refusal { try request(with: [.init("login_hint", "x")]) } == nil)
        #expect(
            refusal { try request(with: [.init("login_hint", "x")]) { $0.loginHint = "y" } }?.code
                == .invalidConfiguration)
        let withClient = "https://op.example/authorize?client_id=other"
        #expect(refusal { try request(withClient) }?.code == .invalidConfiguration)
        #expect(refusal { try request("https://op.example/authorize?a=1", with: [.init("a", "2")]) } != nil)
        #expect(refusal { try request("https://op.example/authorize?a=1", with: [.init("b", "2")]) } == nil)
    }

    @Test(
        arguments: [
            (["openid", "offline_access"], nil, [], "consent"), (["openid"], nil, [], nil),
            (["openid", "offline_access"], [], [], nil), (["openid", "offline_access"], ["login"], [], "login"),
            (["openid", "offline_access"], nil, ["create"], "create"), (["openid"], ["none"], [], "none"),
        ] as [([String], [String]?, [String], String?)])
    func `offline_access asks for consent unless the app says something (Core §11)`(
        scope: [String], prompt: [String]?, additional: [String], expected: String?
    ) throws {
        var options = AuthorizationRequest.Options()
        options.prompt = prompt?.map { .init(rawValue: $0) }
        options.additionalParameters = additional.map { .init("prompt", $0) }
        let request = try AuthorizationRequest(
            client: client(), redirectURI: redirectURI, scope: scope.map { Scope(rawValue: $0) }, options: options)
        #expect(try decoded(request).items.filter { $0.name == "prompt" }.map(\.value) == [expected].compactMap(\.self))
    }

    @Test func `without openid there is no nonce, and without scopes no scope`() throws {
        let request = try AuthorizationRequest(client: client(), redirectURI: redirectURI, scope: [])
        #expect(request.nonce == nil)
        #expect(try decoded(request).items.allSatisfy { $0.name != "nonce" && $0.name != "scope" })
    }

    @Test(arguments: ["", "openid profile", "openid\nprofile", "say\"so\"", "back\\slash", "größe", "a\u{7F}"])
    func `a scope value that the server would read otherwise is refused (RFC 6749 §3.3)`(value: String) throws {
        func refused(_ scope: Scope) throws -> AuthError? {
            let client = try client()
            return refusal { try AuthorizationRequest(client: client, redirectURI: redirectURI, scope: [scope]) }
        }
        #expect(try refused("!#[]~https://api.example/read") == nil)
        #expect(try refused(Scope(rawValue: value))?.code == .invalidConfiguration)
    }

    @Test func `an empty client id is refused`() throws {
        let client = Client(id: "", provider: try client().provider)
        let error = refusal { try AuthorizationRequest(client: client, redirectURI: redirectURI) }
        #expect(error?.message == "expected a client id, found an empty one")
    }

    @Test func `state, nonce and verifier have 256 random bits each, and no two are alike (RFC 9700 §4.7)`() throws {
        let client = try client()
        var texts: Set<String> = []
        for _ in 0..<1000 {
            let request = try AuthorizationRequest(client: client, redirectURI: redirectURI)
            for secret in [request.state, try #require(request.nonce), request.pkce.codeVerifier] {
                #expect(Base64URL.decode(secret.reveal())?.count == 32)
                texts.insert(secret.reveal())
            }
        }
        #expect(texts.count == 3000)
    }

    @Test func `without an authorization endpoint the error names it`() throws {
        let provider = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
        let error = try #require(
            refusal { try AuthorizationRequest(client: Client(id: "a", provider: provider), redirectURI: redirectURI) })
        #expect(error.code == .invalidMetadata)
        #expect(error.message.contains("authorization_endpoint"))
    }

    @Test func `printing a request shows neither its state nor its URL`() throws {
        let request = try AuthorizationRequest(client: client(), redirectURI: redirectURI)
        var texts = ["\(request)", String(reflecting: request), "\([request])", ""]
        dump(request, to: &texts[3])
        for text in texts {
            #expect(!text.contains(request.state.reveal()))
            #expect(!text.contains("redirect_uri"))
        }
    }

    private func client(_ endpoint: String = "https://op.example/authorize") throws -> Client {
        Client(
            id: "s6BhdRkqt3",
            provider: try ProviderMetadata(issuer: "https://op.example", endpoints: [.authorization: endpoint]))
    }

    private func request(
        _ endpoint: String = "https://op.example/authorize",
        with parameters: [AuthorizationRequest.Options.Parameter] = [],
        _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) throws -> AuthorizationRequest {
        var options = AuthorizationRequest.Options()
        options.additionalParameters = parameters
        edit(&options)
        return try AuthorizationRequest(client: client(endpoint), redirectURI: redirectURI, options: options)
    }

    private func decoded(
        _ request: AuthorizationRequest
    ) throws -> (endpoint: String, items: [FormParameters.Item]) {
        let parts = request.url.split(separator: "?", maxSplits: 1).map(String.init)
        try #require(parts.count == 2)
        return (parts[0], try #require(FormParameters(decoding: parts[1])).items)
    }
}
