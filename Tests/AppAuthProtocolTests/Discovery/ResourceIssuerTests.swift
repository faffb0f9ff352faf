import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import JOSE
import TestFixtures
import Testing

/// An issuer that a resource names may lead to another provider's page (RFC 9700 §4.4).
struct ResourceIssuerTests {
    private static let issuer: Issuer = "https://as.example"

    /// - Parameter edit: Changes the metadata.
    private static func provider(
        namedBy resource: String? = "https://r.example/api", _ edit: (inout JSON.Object) -> Void = { _ in }
    ) throws -> ProviderMetadata {
        var document: JSON.Object = [
            "issuer": .string(issuer.string), "authorization_endpoint": "https://as.example/authorize",
            "token_endpoint": "https://as.example/token",
        ]
        edit(&document)
        var provider = try ProviderMetadata(document: .object(document))
        provider.isDiscovered = true
        provider.resource = try resource.map { try SecureURL($0) }
        return provider
    }

    private static func request(
        _ provider: ProviderMetadata, path: String = issuer.redirectPath(), _ confirmed: SignInConfirmation? = nil,
        of id: String = "c", _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) throws -> AuthorizationRequest {
        var options = AuthorizationRequest.Options()
        options.confirmed = confirmed
        edit(&options)
        return try AuthorizationRequest(
            client: Client(id: id, provider: provider), redirectURI: "http://127.0.0.1:1\(path)", scope: [.openID],
            options: options)
    }

    /// The page, the path of the redirect URI, whether the issuer is promised, whether a resource has named it, and
    /// whether the user must agree.
    @Test(
        arguments: [
            ("https://as.example/authorize", nil, false, true, false),
            ("https://AS.example:443/a", nil, false, true, false),
            ("https://as.example:444/a", nil, false, true, true),
            ("https://login.as.example/a", nil, false, true, true),
            ("https://example/a", nil, false, true, true),
            ("https://honest.example/a", nil, false, true, true),
            ("https://honest.example/a", nil, true, true, false),
            ("https://honest.example/a", nil, false, false, false),
            ("https://as.example/a", "/callback", false, true, true),
            ("https://as.example/a", "/callback", true, true, false),
            ("https://as.example/a", "/callback", false, false, false),
            ("https://as.example/a", Issuer("https://other.example").redirectPath(), false, true, true),
            ("https://as.example/a", "/callback" + issuer.redirectPath(for: ""), false, true, true),
        ] as [(String, String?, Bool, Bool, Bool)])
    func `the user must agree if the code could be another provider's`(
        page: String, path: String?, isPromised: Bool, isOfResource: Bool, mustAgree: Bool
    ) throws {
        let provider = try Self.provider(namedBy: isOfResource ? "https://r.example/api" : nil) { document in
            document["authorization_endpoint"] = .string(page)
            if isPromised { document["authorization_response_iss_parameter_supported"] = true }
        }
        let error = refusal { try Self.request(provider, path: path ?? Self.issuer.redirectPath()) }
        #expect((error?.code == .confirmationRequired) == mustAgree)
        let hosts = error?.confirmation.map { [$0.resource.host, $0.issuer.host] + $0.elsewhere.map(\.string) }
        let elsewhere = try SecureURL(page).origin == Self.issuer.url.origin ? [] : [page]
        #expect(hosts == (mustAgree ? ["r.example", "as.example"] + elsewhere : nil))
    }

    private static let honest = "https://honest.example/x"

    /// The endpoints of the metadata that are another provider's.
    @Test(arguments: ["authorization_endpoint", "pushed_authorization_request_endpoint", "token_endpoint"])
    func `each endpoint of the sign-in counts`(endpoint: String) throws {
        func code(_ edit: @escaping (inout JSON.Object) -> Void) throws -> AuthError.Code? {
            let provider = try Self.provider { document in
                document[endpoint] = .string(Self.honest)
                edit(&document)
            }
            return refusal { try Self.request(provider) }?.code
        }
        #expect(try code { _ in } == .confirmationRequired)
        #expect(try code { $0["authorization_response_iss_parameter_supported"] = true } == nil)
        #expect(try code { $0[endpoint] = "https://as.example/x" } == nil)
        #expect(
            try code { document in
                document[endpoint] = "https://as.example/x"
                document["mtls_endpoint_aliases"] = [endpoint: .string(Self.honest)]
            } == nil, "only for clients with a certificate")
    }

    @Test func `the endpoints of a client with a certificate count, in place of and beside the usual ones`() throws {
        let own = "https://as.example/token"
        for urls in [[own, Self.honest], [Self.honest, own]] {
            let provider = try Self.provider { document in
                document["token_endpoint"] = .string(urls[0])
                document["mtls_endpoint_aliases"] = ["token_endpoint": .string(urls[1])]
            }
            let client = Client(id: "c", provider: provider, bindsTokensToCertificate: true)
            let error = refusal {
                try AuthorizationRequest(
                    client: client, redirectURI: "http://127.0.0.1:1\(Self.issuer.redirectPath())")
            }
            #expect(error?.code == .confirmationRequired)
        }
    }

    /// RFC 9700 §4.4.2.1: besides `iss`, a signed response (JARM) and an ID token with the code name the issuer. Both are
    /// verified before the code is sent.
    @Test(
        arguments: [
            (.jwt, .code, false), (.queryJWT, .code, false), (.formPostJWT, .code, false), (.formPost, .code, true),
            (.query, .code, true), (.formPost, .codeIDToken, false),
        ] as [(AuthorizationRequest.ResponseMode, AuthorizationRequest.ResponseType, Bool)])
    func `a response that names its issuer needs no agreement`(
        mode: AuthorizationRequest.ResponseMode, type: AuthorizationRequest.ResponseType, mustAgree: Bool
    ) throws {
        let provider = try Self.provider { $0["authorization_endpoint"] = .string(Self.honest) }
        let error = refusal {
            try Self.request(provider, path: "/callback", of: "https://app.example/c.json") { options in
                (options.responseMode, options.responseType) = (mode, type)
            }
        }
        #expect((error?.code == .confirmationRequired) == mustAgree && (error == nil) != mustAgree)
    }

    /// A document lists the redirect URIs of all issuers, so each of them is valid at every issuer. The issuer's
    /// registration response can name such a client ID too.
    @Test(arguments: [false, true])
    func `a client ID that is a URL is also another provider's`(isRegistered: Bool) throws {
        func client(_ id: String, _ edit: (inout JSON.Object) -> Void = { _ in }) throws -> Client {
            var client = Client(id: id, provider: try Self.provider(edit))
            if isRegistered { client.registration = try ClientRegistration(document: ["client_id": .string(id)]) }
            return client
        }
        func code(_ client: Client) -> AuthError.Code? {
            refusal {
                try AuthorizationRequest(
                    client: client, redirectURI: "http://127.0.0.1:1\(Self.issuer.redirectPath())")
            }?.code
        }
        let document = "https://app.example/client.json"
        #expect(try code(client(document)) == .confirmationRequired)
        #expect(try code(client("HTTPS://app.example/client.json")) == .confirmationRequired)
        #expect(try code(client(document) { $0["authorization_response_iss_parameter_supported"] = true }) == nil)
        #expect(try code(client("app.example")) == nil)
        var named = try client(document)
        named.provider.resource = nil
        #expect(code(named) == nil)
    }

    /// No response shows where a device code comes from, not even one of an issuer that promises `iss`.
    @Test(arguments: ["device_authorization_endpoint", "token_endpoint"])
    func `the endpoints of a device count`(endpoint: String) throws {
        func code(namedBy resource: String? = "https://r.example/api", _ url: String) throws -> AuthError.Code? {
            let provider = try Self.provider(namedBy: resource) { document in
                document["device_authorization_endpoint"] = "https://as.example/device"
                document["authorization_response_iss_parameter_supported"] = true
                document["authorization_endpoint"] = .string(Self.honest)
                document[endpoint] = .string(url)
            }
            return refusal { try DeviceAuthorizationRequest(client: Client(id: "c", provider: provider)) }?.code
        }
        #expect(try code(Self.honest) == .confirmationRequired)
        #expect(try code("https://as.example/x") == nil, "the page of the browser does not matter")
        #expect(try code(namedBy: nil, Self.honest) == nil)
    }

    @Test(arguments: ["backchannel_authentication_endpoint", "token_endpoint"])
    func `the endpoints of an approval elsewhere count`(endpoint: String) throws {
        func code(_ url: String) throws -> AuthError.Code? {
            let provider = try Self.provider { document in
                document["backchannel_authentication_endpoint"] = "https://as.example/bc"
                document[endpoint] = .string(url)
            }
            let client = Client(id: "c", authentication: .clientSecretBasic(Secret("s")), provider: provider)
            return refusal { try BackchannelAuthenticationRequest(client: client, hint: .login("jane")) }?.code
        }
        #expect(try code(Self.honest) == .confirmationRequired)
        #expect(try code("https://as.example/x") == nil)
    }

    @Test func `an agreement to other hosts is none to a client that other providers know`() throws {
        let foreign = try Self.provider { $0["token_endpoint"] = "https://elsewhere.example/t" }
        let hosts = try #require(refusal { try Self.request(foreign) }?.confirmation)
        #expect(!hosts.isClientShared && !hosts.summary.contains("knows the same client"))
        let both = try #require(refusal { try Self.request(foreign, path: "/callback", hosts) }?.confirmation)
        #expect(both.isClientShared && both.summary.contains("elsewhere.example and can lead to another provider"))
        let request = try Self.request(foreign, path: "/callback", both)
        let record = try AuthStateRecord(client: request.client, accessToken: nil, refreshToken: nil)
        let stored = try AuthStateRecord(decoding: record.encoded(), from: "test").client.provider
        #expect(throws: Never.self) { try Self.request(stored, path: "/callback") }
        #expect(throws: Never.self) { try Self.request(stored) }
    }

    @Test func `an agreement is for these three hosts, and is remembered with the session`() throws {
        let foreign = try Self.provider { $0["authorization_endpoint"] = "https://honest.example/a" }
        let other = try Self.provider { $0["authorization_endpoint"] = "https://elsewhere.example/a" }
        let question = try #require(refusal { try Self.request(foreign) }?.confirmation)
        let request = try Self.request(foreign, question)
        #expect(
            refusal { try Self.request(other, question) }?.confirmation?.elsewhere.map(\.host) == ["elsewhere.example"])
        let record = try AuthStateRecord(client: request.client, accessToken: nil, refreshToken: nil)
        var agreed = try AuthStateRecord(decoding: record.encoded(), from: "test").client.provider
        #expect(agreed == request.client.provider && agreed.resource == foreign.resource)
        #expect(throws: Never.self) { try Self.request(agreed) }
        agreed = other
        agreed.agreement = request.client.provider.agreement
        #expect(refusal { try Self.request(agreed) }?.code == .confirmationRequired)
    }

    /// A hostile issuer would have its redirect URI registered at the honest provider, by the user's own machine.
    @Test func `the endpoint that registers the client counts`() throws {
        func register(
            _ url: String, namedBy resource: String? = "https://r.example/api", _ confirmed: SignInConfirmation? = nil
        ) throws {
            let provider = try Self.provider(namedBy: resource) { $0["registration_endpoint"] = .string(url) }
            _ = try ClientRegistrationRequest(provider: provider, metadata: ClientMetadata(), confirmed: confirmed)
        }
        let error = refusal { try register(Self.honest) }
        #expect(error?.code == .confirmationRequired)
        #expect(throws: Never.self) {
            try register(Self.honest, error?.confirmation)
            try register(Self.honest, namedBy: nil)
            try register("https://as.example/register")
        }
    }

    @Test func `the metadata notes the resource, unless the app chooses the issuer, and keeps the note in a session`()
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = ResourceDescription()
        try await World.run(configuration) { world in
            let discovery = Discovery(environment: world.environment)
            let resource = try await discovery.protectedResource(at: world.provider.url(.api))
            let named = try await discovery.metadata(for: resource)
            #expect(named.resource == resource.url)
            let issuer = named.issuer
            #expect(try await discovery.metadata(for: resource, choosing: issuer).resource == nil)
            #expect(try await discovery.metadata(for: issuer).resource == nil)
            let record = try AuthStateRecord(
                client: Client(id: "c", provider: named), accessToken: nil, refreshToken: nil)
            let bytes = try record.encoded()
            #expect(try AuthStateRecord(decoding: bytes, from: "test").client.provider.resource == resource.url)
        }
    }

    @Test(arguments: ["a", ["https://r.example/api", 1], 1, [:]] as [JSON])
    func `a malformed list of resources does not contain the resource`(list: JSON) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resourceDescription = ResourceDescription()
        try await World.run(configuration) { world in
            let discovery = Discovery(environment: world.environment)
            let url = world.provider.url(.api)
            let resource = try await discovery.protectedResource(at: url)
            let list = list.array == nil ? list : [.string(url), 1]
            world.provider.fault(.editDocument { $0["protected_resources"] = list }, at: .openIDConfiguration)
            let error = await authError { try await discovery.metadata(for: resource) }
            #expect(error?.code == .resourceMismatch)
        }
    }

    @Test(arguments: ["login_hint", "resource", "response_mode", "state", "request", "dpop_jkt", "claims"])
    func `a discovered endpoint's query does not set the app's parameters`(name: String) throws {
        func provider(_ isDiscovered: Bool) throws -> ProviderMetadata {
            var provider = try Self.provider {
                $0["authorization_endpoint"] = .string("https://as.example/a?policy=1&\(name)=x")
            }
            provider.isDiscovered = isDiscovered
            return provider
        }
        let error = refusal { try Self.request(provider(true)) }
        #expect(error?.code == .invalidMetadata && error?.message.contains("'\(name)'") == true)
        if name == "login_hint" {
            #expect(try Self.request(provider(false)).url.contains("policy=1&\(name)=x"), "the app’s own metadata")
        }
    }

    @Test func `each issuer has a redirect path of its own`() {
        let component = Self.issuer.redirectPath(for: "")
        for (base, expected) in [
            ("/cb/", "\(component)/cb/"), ("http://127.0.0.1:8/cb", "http://127.0.0.1:8\(component)/cb"),
            ("http://[::1]/cb", "http://[::1]\(component)/cb"),
            ("com.example.app:/cb", "com.example.app:\(component)/cb"),
        ] {
            #expect(Self.issuer.redirectPath(for: base) == expected)
        }
        let issuers: [Issuer] = [
            "https://as.example", "https://as.example/", "https://AS.example", "https://as.example/t",
        ]
        #expect(Set(issuers.map { $0.redirectPath() }).count == 4)
        // The digest of RFC 6234, as another program calculates it.
        #expect(Self.issuer.redirectPath() == "/k-IPvZ2UNvdMJS260w7HMg/callback")
    }

    /// What the provider has registered, the redirect URI of the app, and whether it may be used.
    @Test(
        arguments: [
            (["http://127.0.0.1/cb"], "http://127.0.0.1:4711/cb", true), ([], "http://127.0.0.1/cb", true),
            (["http://127.0.0.1:1/cb"], "http://127.0.0.1:2/cb", true),
            (["http://[::1]/cb"], "http://[::1]:4711/cb", true),
            (["a.b:/x", "http://127.0.0.1/cb"], "http://127.0.0.1/cb", true),
            (["http://127.0.0.1/cb"], "http://127.0.0.1/cb/", false),
            (["http://127.0.0.1/cb"], "http://[::1]/cb", false),
            (["http://127.0.0.1/cb?a"], "http://127.0.0.1/cb", false),
            (["https://a.example:1/cb"], "https://a.example:2/cb", false),
            (["vscode:/callback"], "a.b:/callback", false),
            (["a.b:/callback"], "a.b:/callback", true),
        ] as [([String], String, Bool)])
    func `only a registered redirect URI is used`(listed: [String], uri: String, isAllowed: Bool) throws {
        let document: JSON = ["client_id": "c", "redirect_uris": .array(listed.map(JSON.string))]
        let registration = try ClientRegistration(document: document)
        let error = refusal { try registration.check(redirectURI: uri) }
        #expect((error == nil) == isAllowed)
        if !isAllowed { #expect(([uri] + listed).allSatisfy { error?.message.contains("'\($0)'") == true }) }
        var client = Client(id: "c", provider: try Self.provider(namedBy: nil))
        client.registration = registration
        let request = refusal { try AuthorizationRequest(client: client, redirectURI: uri) }
        #expect(request?.code == error?.code)
    }
}
