import AppAuth
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Sessions that `login --from` makes are for the user who was signed in to the profile then (OpenID Connect Core §5.7).
@Suite(.timeLimit(.minutes(5)))
struct AssertionUserTests {
    /// The fixture's provider and another one vouch for their users at the server of a resource.
    private struct Servers {
        let fixture: CommandFixture
        let other, server: LocalProvider

        static func run(_ body: (Servers) async throws -> Void) async throws {
            var configuration = LocalProvider.Configuration.demo
            configuration.clientOfIdentityAssertions = "notes"
            configuration.users.append(.bob)
            var another = RegisteredClient.demoConfidential
            another.id = "other"
            configuration.clients.append(another)
            try await withLocalProvider(configuration) { other in
                try await withDesk(configuration) { fixture in
                    var configuration = LocalProvider.Configuration.demo
                    configuration.resourceDescription = ResourceDescription(scopes: ["api"])
                    configuration.users.append(.bob)
                    configuration.clients = [
                        RegisteredClient(
                            id: "notes", secret: "a secret of the notes", grantTypes: [GrantType.jwtBearer.rawValue],
                            authentication: [.basic])
                    ]
                    configuration.assertionIssuers = try await [trust(fixture.provider), trust(other)]
                    try await withLocalProvider(configuration) { server in
                        try await body(Servers(fixture: fixture, other: other, server: server))
                    }
                }
            }
        }

        private static func trust(_ provider: LocalProvider) async throws -> TrustedIssuer {
            let keys = try await CurlTransport(.init(proxy: .none)).send(
                TransportRequest(HTTPRequest(method: .get, url: SecureURL(provider.url(.keys)))))
            return TrustedIssuer(
                provider.issuer, keys: try JSON(parsing: keys.body)["keys"]?.array?.map(JWK.init) ?? [])
        }

        /// Signs in to the profile `work` as alice, unless the variables say otherwise.
        func signIn(
            at provider: LocalProvider, client: String = "demo-confidential", with changes: [String: String] = [:]
        ) async throws {
            let words = ["login", "--json", "--profile", "work", "--issuer", provider.issuer, "--client-id", client]
            // A sign-out would end the sessions that come from it, as far as they are known.
            try? FileManager.default.removeItem(atPath: fixture.sessions + "/work.profile")
            let secret = fixture.home + "/provider-secret"
            try (RegisteredClient.demoConfidential.secret ?? "").write(
                toFile: secret, atomically: true, encoding: .utf8)
            _ = try await fixture.start(
                words + ["--client-secret-file", secret, "--scope", "openid offline_access"], changes
            ).outcome().result()
        }

        /// Signs in for the resource, from the profile `work`.
        func signInFromWork(_ words: [String]) async throws -> Outcome {
            let outcome = try await startFromWork(words).outcome()
            #expect(try outcome.result()["scope"] == "api")
            return outcome
        }

        func request(_ url: String, _ options: String...) async throws -> Outcome {
            try await fixture.start(["request", url, "--profile", "notes", "--step-up"] + options).outcome()
        }

        func startFromWork(_ words: [String]) throws -> ChildProcess {
            let secret = fixture.home + "/secret"
            try "a secret of the notes".write(toFile: secret, atomically: true, encoding: .utf8)
            let line = [
                "login", "--json", "--resource", server.url(.api), "--from", "work", "--issuer", server.issuer,
                "--client-id", "notes", "--client-secret-file", secret,
            ]
            return try fixture.start(line + words)
        }

        /// How many statements for other servers the providers were asked for.
        var asked: Int {
            [fixture.provider, other].map { provider in
                provider.log(.token).count { $0.form["grant_type"] == GrantType.tokenExchange.rawValue }
            }.reduce(0, +)
        }

        /// The subjects of the statements that the resource's server got.
        var subjects: [String?] {
            server.log(.token).map { request in
                try? request.form["assertion"].map { try JWS(compact: $0).claims["sub"]?.string ?? "" }
            }
        }

        /// Expects a command to fail since the session is another user's, and to ask no provider.
        ///
        /// - Returns: The command line that helps.
        func expectRefusal(_ words: [String], saying reason: String) async throws -> String {
            let before = (asked, subjects.count)
            let outcome = try await fixture.start(words).outcome()
            let message = try outcome.failure(1, "sign_in_required")
            #expect(message.contains(reason), "\(outcome)")
            #expect(asked == before.0 && subjects.count == before.1)
            return try #require(message.advised(by: "Sign in with: "))
        }

        /// Expires the access token in the file of a session.
        func expire(_ path: String, _ edit: (inout JSON.Object) -> Void = { _ in }) throws {
            try CommandFixture.editSession(at: path) { json in
                try json.expire()
                edit(&json)
            }
        }
    }

    private static let isAnother = "another user is signed in: "
    private let token = ["token", "--json", "--profile", "notes"]

    @Test func `the scopes that a foreign API demands are in no line for a session from a profile`() async throws {
        try await Servers.run { servers in
            try await servers.signIn(at: servers.fixture.provider)
            _ = try await servers.signInFromWork(["--profile", "notes"])
            for api in [servers.other, servers.server] {
                api.fault(
                    .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="admin""#]),
                    at: .api,
                    times: nil)
            }
            let own = try await servers.request(servers.server.url(.api))
            #expect(own.errors.contains("sign in with: sign-in login") && own.errors.contains("admin"), "\(own)")
            let url = servers.other.url(.api)
            let foreign = try await servers.request(url)
            #expect(
                !foreign.errors.contains("admin") && foreign.errors.contains("no resource of the session"), "\(foreign)"
            )
            let agreed = try await servers.request(url, "--step-up-at", url)
            #expect(agreed.errors.contains("admin"), "\(agreed)")
        }
    }

    @Test func `a profile that is at another provider now says nothing for the session from it`() async throws {
        try await Servers.run { servers in
            let fixture = servers.fixture
            try await servers.signIn(at: fixture.provider)
            _ = try await servers.signInFromWork(["--profile", "notes"])
            try await servers.signIn(at: servers.other)
            try servers.expire("\(fixture.sessions)/notes.json")
            let line = try await servers.expectRefusal(token, saying: Self.isAnother)
            #expect(line == "sign-in login --profile notes")
            let watch = try fixture.start(["watch"])
            _ = try await watch.line { $0.contains("Sign in with: sign-in login --profile notes") }
            watch.send(SIGINT)
            _ = try await watch.outcome()
            #expect(servers.asked == 1 && servers.subjects.count == 1)
            // The user decides that the session is for the other user.
            let refused = try await fixture.run("login", "--json", "--profile", "notes").failure(1, "session_replaced")
            #expect(refused.hasSuffix("sign-in logout --profile notes"), "\(refused)")
            #expect(servers.asked == 1 && servers.subjects.count == 1)
            _ = try await fixture.run("logout", "--json", "--profile", "notes").result()
            #expect(try await fixture.run("login", "--json", "--profile", "notes").result()["scope"] == "api")
            try servers.expire("\(fixture.sessions)/notes.json")
            _ = try await fixture.start(token).outcome().result()
            #expect(servers.asked == 3)
        }
    }

    /// Signs in for the resource, whose server responds after what happens meanwhile.
    private func signInFromWork(
        _ servers: Servers, meanwhile: () async throws -> Void
    ) async throws -> Outcome {
        try await servers.signIn(at: servers.fixture.provider)
        let hold = servers.server.hold(.openIDConfiguration)
        let process = try servers.startFromWork(["--profile", "notes"])
        try await hold.arrived()
        try await meanwhile()
        hold.release()
        return try await process.outcome()
    }

    @Test func `a server that takes its time gets a statement about the user of the beginning, or none`() async throws {
        try await Servers.run { servers in
            let outcome = try await signInFromWork(servers) { try await servers.signIn(at: servers.other) }
            #expect(try outcome.failure(1, "sign_in_required").contains(Self.isAnother))
            #expect(servers.asked == 0 && servers.subjects.isEmpty)
        }
    }

    @Test func `a server that takes its time gets no profile that is another session's by then`() async throws {
        try await Servers.run { servers in
            let fixture = servers.fixture
            let outcome = try await signInFromWork(servers) {
                _ = try await fixture.login("--profile", "notes", with: CommandFixture.bob).result()
            }
            try outcome.failure(1, "session_replaced")
            let status = try await fixture.run("status", "--json", "--profile", "notes").result()
            #expect(status["sessions"]?.array?.first?["user"] == "bob", "\(status)")
        }
    }

    /// Whose session the profile has when the other session is renewed.
    enum Later: CaseIterable, Sendable { case sameUser, otherClient, otherUser }

    @Test(arguments: Later.allCases)
    func `the session goes on with the same user, also of another client`(later: Later) async throws {
        try await Servers.run { servers in
            let fixture = servers.fixture
            let path = fixture.home + "/notes.json"
            try await servers.signIn(at: fixture.provider)
            let outcome = try await servers.signInFromWork(["--store", "file:\(path)"])
            #expect(outcome.errors.contains("sign-in logout --store file:\(path)"), "\(outcome)")
            let logout = try await fixture.run("logout", "--json", "--profile", "work", "--local", "--forget")
            _ = try logout.result()
            try await servers.signIn(
                at: fixture.provider, client: later == .otherClient ? "other" : "demo-confidential",
                with: later == .otherUser ? CommandFixture.bob : [:])
            try servers.expire(path)
            let token = ["token", "--json", "--store", "file:\(path)"]
            if later == .otherUser {
                let line = try await servers.expectRefusal(token, saying: Self.isAnother)
                #expect(line.contains(" --from work") && line.contains("--store file:\(path)"), "\(line)")
                let words = ["sh", "-c", line + " --client-secret-file '\(fixture.home)/secret' --json"]
                let again = try await ChildProcess(words, environment: fixture.environment).outcome()
                #expect(try again.failure(1, "session_replaced").hasSuffix("sign-in logout --store file:\(path)"))
                #expect(servers.subjects.count == 1)
            } else {
                _ = try await fixture.start(token).outcome().result()
                #expect(servers.subjects == [User.alice.subject, User.alice.subject])
            }
        }
    }

    @Test func `a session of an earlier version, which does not say whose it is, needs a sign-in`() async throws {
        try await Servers.run { servers in
            let fixture = servers.fixture
            try await servers.signIn(at: fixture.provider)
            let outcome = try await servers.signInFromWork(["--profile", "notes"])
            #expect(!outcome.errors.contains("sign-in logout"), "\(outcome)")
            let path = "\(fixture.sessions)/notes.json"
            try servers.expire(path) { json in
                var grant = json["grant"]?.object ?? [:]
                #expect(grant["assertionUser"]?["subject"]?.string == User.alice.subject)
                grant["assertionUser"] = nil
                json["grant"] = .object(grant)
            }
            let line = try await servers.expectRefusal(token, saying: "does not say which user of the profile 'work'")
            #expect(line == "sign-in login --profile notes")
            #expect(try await fixture.run("login", "--json", "--profile", "notes").result()["scope"] == "api")
            try servers.expire(path)
            _ = try await fixture.start(token).outcome().result()
        }
    }
}
