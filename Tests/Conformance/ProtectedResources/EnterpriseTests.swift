import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// The scenario enterprise-managed-authorization: a user signs in once, at an identity provider that vouches for users at the
/// authorization servers of many resources.
@Suite(.timeLimit(.minutes(5)))
struct EnterpriseTests {
    private static let atProvider = SmallClient.Credentials(
        id: RegisteredClient.demoConfidential.id, secret: RegisteredClient.demoConfidential.secret,
        method: "client_secret_basic")
    private static let atServer = SmallClient.Credentials(
        id: "notes", secret: "a secret of the notes", method: "client_secret_basic")

    private struct Servers {
        let provider, server: LocalProvider
        var url: String { server.url(.api) }

        static func run(_ body: (Servers) async throws -> Void) async throws {
            var configuration = LocalProvider.Configuration.demo
            configuration.clientOfIdentityAssertions = atServer.id
            // Shorter than what a request needs, so that each one needs a refresh.
            configuration.idTokenLifetime = 30
            try await withLocalProvider(configuration) { provider in
                try await withServer(of: provider, body)
            }
        }

        /// Runs a test with another server that trusts the provider.
        static func withServer(of provider: LocalProvider, _ body: (Servers) async throws -> Void) async throws {
            let keys = try await CurlTransport(.init(proxy: .none)).send(
                TransportRequest(HTTPRequest(method: .get, url: SecureURL(provider.url(.keys)))))
            let published = try JSON(parsing: keys.body)["keys"]?.array?.map(JWK.init) ?? []
            var configuration = LocalProvider.Configuration.demo
            configuration.resourceDescription = ResourceDescription(scopes: ["api"])
            configuration.registration = nil
            configuration.assertionIssuers = [TrustedIssuer(provider.issuer, keys: published)]
            configuration.clients = [
                RegisteredClient(
                    id: atServer.id, secret: atServer.secret, grantTypes: [GrantType.jwtBearer.rawValue],
                    authentication: [.basic])
            ]
            try await withLocalProvider(configuration) { server in
                try await body(Servers(provider: provider, server: server))
            }
        }

        /// The identifiers of the checks that have failed.
        var failed: Set<String> {
            let exchanges = provider.log(.token).filter {
                $0.form["grant_type"] == GrantType.tokenExchange.rawValue && $0.form["audience"] == server.issuer
            }
            let isExchanged = exchanges.allSatisfy { request in
                request.status == 200 && request.form["subject_token"] != nil
                    && request.form["subject_token_type"] == SecurityToken.Kind.idToken.rawValue
                    && request.form["requested_token_type"] == "urn:ietf:params:oauth:token-type:id-jag"
                    && request.form["resource"] == url
            }
            let grants = server.log(.token)
            let isPresented = grants.allSatisfy { request in
                guard let jws = request.form["assertion"].flatMap({ try? JWS(compact: $0) }),
                    let claims = try? jws.claims
                else { return false }
                return request.status == 200 && request.form["grant_type"] == GrantType.jwtBearer.rawValue
                    && request.authentication == "client_secret_basic" && jws.header.typ == "oauth-id-jag+jwt"
                    && claims["aud"]?.string == server.issuer && claims["client_id"]?.string == atServer.id
                    && claims["resource"]?.string == url
            }
            let checks = [
                "complete-flow-token-exchange": isExchanged && !exchanges.isEmpty,
                "complete-flow-jwt-bearer": isPresented && !grants.isEmpty,
            ]
            return Set(checks.filter { !$0.value }.keys)
        }

        /// Signs in at the provider, and from there for the resource.
        func signIn(_ user: CommandUser) async throws {
            let secret = try user.file("provider-secret", atProvider.secret ?? "")
            let first = try await user.run([
                "login", "--json", "--profile", "work", "--issuer", provider.issuer, "--client-id", atProvider.id,
                "--client-secret-file", secret, "--scope", "openid offline_access",
            ])
            #expect(first.status == 0, "\(first)")
            let second = try await user.run([
                "login", "--json", "--profile", "notes", "--resource", url, "--from", "work", "--issuer", server.issuer,
                "--client-id", atServer.id, "--client-secret-file",
                user.file("secret", atServer.secret ?? ""),
            ])
            #expect(second.json?["issuer"]?.string == server.issuer && second.json?["scope"] == "api", "\(second)")
        }
    }

    private let token = ["token", "--force-refresh", "--json", "--profile", "notes"]

    @Test func `one sign-in serves a resource, and renews its session without a browser`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            try await servers.signIn(user)
            let used = try await user.run(["request", servers.url, "--json", "--profile", "notes"])
            #expect(used.json?["status"] == 200, "\(used)")
            #expect(try await user.run(token).code == nil)
            #expect(servers.failed == [])
            #expect(servers.server.count(.token) == 2 && servers.server.authorizations.isEmpty)
            #expect(servers.provider.authorizations.count == 1)
            let again = try await user.run(["login", "--json", "--profile", "notes"])
            #expect(again.code == nil && servers.failed == [] && servers.server.count(.token) == 3, "\(again)")
        }
    }

    @Test func `in an app with the library, one sign-in serves the resources of two servers`() async throws {
        try await Servers.run { servers in
            try await Servers.withServer(of: servers.provider) { others in
                let client = try await LibraryUser.client(
                    Self.atProvider.id, .clientSecretBasic(Secret(Self.atProvider.secret ?? "")),
                    at: servers.provider.issuer)
                var signIn = SignIn(
                    ClientConfiguration(client, environment: LibraryUser.environment), appName: "My App")
                signIn.scope = ["openid", "offline_access"]
                let work = try await LibraryUser.run(signIn)
                var environment = LibraryUser.environment
                environment.grantAssertion = { demand in try await work.identityAssertion(for: demand) }
                for servers in [servers, others] {
                    let grant = try TokenGrant.jwtBearer(
                        assertionNamed: "identity provider", scope: ["api"], resources: [servers.url])
                    let session = try await LibraryUser.present(
                        grant, as: Self.atServer.id, .clientSecretBasic(Secret(Self.atServer.secret ?? "")),
                        at: servers.server.issuer, in: environment)
                    _ = try await session.freshAccessToken(forceRefresh: true)
                    #expect(try await session.get(servers.url).status == .ok)
                    #expect(servers.failed == [] && servers.server.count(.token) == 2)
                }
                #expect(servers.provider.authorizations.count == 1)
            }
        }
    }

    @Test func `signing out of the provider ends the sessions that came from it`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            try await servers.signIn(user)
            let text = try await user.run(["token", "--profile", "notes"])
            let value = text.output.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(servers.server.isAlive(value))
            let signedOut = try await user.run(["logout", "--profile", "work", "--revoke-only"])
            #expect(signedOut.errors.contains("Signed out of \(servers.url) too"), "\(signedOut)")
            #expect(!servers.server.isAlive(value))
            let status = try await user.run(["status", "--json"])
            #expect(status.json?["sessions"]?.array?.isEmpty == true, "\(status)")
        }
    }

    @Test func `a session that the provider has ended names the profile to sign in with`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            try await servers.signIn(user)
            servers.provider.fault(.oauthError("invalid_grant"), at: .token, grantType: "refresh_token", times: nil)
            let refused = try await user.run(token)
            #expect(refused.code == "sign_in_required", "\(refused)")
            #expect(refused.errors.contains("sign-in login --profile work"), "\(refused)")
            // The session goes on when the user has signed in there.
            servers.provider.clearFaults()
            #expect(try await user.run(["login", "--json", "--profile", "work"]).code == nil)
            #expect(try await user.run(token).code == nil)
        }
    }

    @Test(arguments: [
        (nil, []), (Flaw.requestsNoTokenType, ["complete-flow-token-exchange", "complete-flow-jwt-bearer"]),
        (.namesNoAudience, ["complete-flow-token-exchange", "complete-flow-jwt-bearer"]),
        (.postsSecret, ["complete-flow-jwt-bearer"]),
    ])
    func `of small clients, the right one passes and the wrong ones fail`(flaw: Flaw?, failed: [String]) async throws {
        try await Servers.run { servers in
            let tokens = try servers.provider.mintSession(client: Self.atProvider.id, scope: "openid")
            try? await SmallClient(flaw, as: Self.atServer).getToken(
                for: servers.url, at: servers.server, by: tokens.idToken ?? "", of: servers.provider,
                as: Self.atProvider)
            let found = servers.failed
            #expect(found == Set(failed))
        }
    }
}
