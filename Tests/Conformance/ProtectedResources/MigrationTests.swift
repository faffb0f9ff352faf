import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// The scenario authorization-server-migration: a resource moves to another authorization server.
@Suite(.timeLimit(.minutes(5)))
struct MigrationTests {
    /// The resource with its first authorization server, and the other one.
    private struct Servers {
        let first, second: LocalProvider
        var url: String { first.url(.api) }

        static func run(_ body: (Servers) async throws -> Void) async throws {
            var configuration = LocalProvider.Configuration.demo
            configuration.resourceDescription = ResourceDescription(scopes: ["api"])
            try await withLocalProvider(configuration) { first in
                // So that there is a secret too, which could reach the other server.
                first.edit { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] }
                var configuration = LocalProvider.Configuration.demo
                configuration.resources = [first.url(.api)]
                try await withLocalProvider(configuration) { second in
                    try await body(Servers(first: first, second: second))
                }
            }
        }

        func migrate() {
            let issuer = second.issuer
            first.editResource { $0["authorization_servers"] = [.string(issuer)] }
            let metadata = first.url(.resourceMetadata)
            first.fault(
                .status(
                    .unauthorized,
                    [.wwwAuthenticate: #"Bearer error="invalid_token", scope="api", resource_metadata="\#(metadata)""#]
                ), at: .api, times: nil)
        }

        /// The secrets and the names that a client has got from the first server, or made for it.
        private var ofFirst: Set<String> {
            let names = ["client_id", "client_secret", "code", "code_verifier", "refresh_token", "state"]
            let parameters = first.log.flatMap { request in
                names.flatMap { request.form.values($0) + request.query.values($0) }
            }
            let tokens = first.log(.api).compactMap { $0.headers[.authorization]?.split(separator: " ").last }
            return Set(parameters + tokens.map(String.init))
        }

        /// RFC 9700 §4.4, SEP-2352.
        var failed: Set<String> {
            let known = ofFirst
            let leaked = second.log.contains { request in
                let entries = (request.query.entries + request.form.entries).map(\.value)
                let texts = entries + request.headers.map(\.value) + [String(decoding: request.body, as: UTF8.self)]
                return texts.contains { text in known.contains { text.contains($0) } }
            }
            let checks = [
                "reregister-on-as-change": second.count(.clientRegistration) == 1 && second.count(.authorization) > 0,
                "no-reuse-on-as-change": !leaked, "has-credentials-to-reuse": known.count > 4,
            ]
            return Set(checks.filter { !$0.value }.keys)
        }
    }

    @Test func `nothing of the old server reaches the new one, and the user is told`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            let request = ["request", servers.url, "--json"]
            #expect(try await user.run(["login", "--json", "--resource", servers.url]).status == 0)
            #expect(try await user.run(request).status == 0)
            servers.migrate()
            let refused = try await user.run(request)
            #expect(refused.status == 1 && refused.json?["status"] == 401, "\(refused)")
            let told = try #require(refused.errors.split(separator: "\n").last, "\(refused)")
            #expect(told.contains("no longer accepts tokens of \(servers.first.issuer)"), "\(told)")
            #expect(told.contains("protected by \(servers.second.issuer) now"), "\(told)")
            let line = try #require(told.components(separatedBy: "with: sign-in ").last).split(separator: " ")
            let signedIn = try await user.run(line.map(String.init) + ["--json"])
            #expect(signedIn.json?["issuer"]?.string == servers.second.issuer, "\(signedIn)")
            #expect(servers.failed == [])
            // The line that signs out of the old session leaves one to choose.
            let signOut = try #require(told.firstMatch(of: /Sign out of this session with: sign-in (.*?)\. Then/)).1
            #expect(try await user.run(request).status == 2)
            #expect(try await user.run(signOut.split(separator: " ").map(String.init) + ["--json"]).status == 0)
            let chosen = try await user.run(request)
            #expect(chosen.status == 1 && chosen.json?["status"] == 401, "\(chosen)")
        }
    }

    /// It is the only session, so no option names it.
    @Test func `the line to sign in at the new server names the session's profile`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            #expect(
                try await user.run(["login", "--json", "--resource", servers.url, "--profile", "notes"]).status == 0)
            servers.migrate()
            let errors = try await user.run(["request", servers.url, "--json"]).errors
            #expect(errors.contains("there with: sign-in login --resource \(servers.url) --profile notes"), "\(errors)")
            #expect(!errors.contains("Sign out of this session with"), "\(errors)")
        }
    }

    /// A profile in use for the resource would be completed by the line, and would lose its session.
    @Test func `the line to sign in at the new server is not for the profile in use`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            let login = ["login", "--json", "--resource", servers.url]
            #expect(try await user.run(login + ["--profile", "notes"]).status == 0)
            let client = try #require(try await user.run(login).json?["client_id"]?.string)
            _ = try await user.run(["use", "notes"])
            servers.migrate()
            let session = ["--issuer", servers.first.issuer, "--client-id", client]
            let errors = try await user.run(["request", servers.url, "--json"] + session).errors
            #expect(errors.contains("there with: sign-in login --resource \(servers.url) --no-profile"), "\(errors)")
        }
    }

    /// With its issuer and its client, it would go on at the old server.
    @Test func `a profile that remembers its server is forgotten first`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            let named = ["--issuer", servers.first.issuer, "--client-id", "demo", "--profile", "notes"]
            #expect(try await user.run(["login", "--json", "--resource", servers.url] + named).status == 0)
            servers.migrate()
            let errors = try await user.run(["request", servers.url, "--json"]).errors
            let lines = errors.matches(of: /with: sign-in (.*?)(?:\. Then|\n|$)/).map {
                $0.1.split(separator: " ").map(String.init)
            }
            #expect(lines.first == ["logout", "--profile", "notes", "--forget"], "\(errors)")
            for line in lines { #expect(try await user.run(line + ["--json"]).status == 0) }
            let accounts = try await user.run(["status", "--json"]).json
            #expect(
                accounts?["sessions"]?.array?.map { $0["issuer"]?.string } == [servers.second.issuer],
                "\(accounts ?? .null)")
        }
    }

    @Test func `a client that the profile remembers stays at its server`() async throws {
        try await Servers.run { servers in
            let user = try CommandUser()
            let login = ["login", "--json", "--profile", "notes"]
            let named = ["--resource", servers.url, "--client-id", "demo"]
            #expect(try await user.run(login + named).status == 0)
            servers.migrate()
            let refused = try await user.run(login)
            #expect(refused.code == "issuer_mismatch" && servers.second.count(.authorization) == 0, "\(refused)")
            #expect(refused.errors.contains("belongs to \(servers.first.issuer)"), "\(refused)")
            // Who names it agrees to it.
            let again = try await user.run(login + named)
            #expect(again.json?["issuer"]?.string == servers.second.issuer, "\(again)")
        }
    }

    @Test func `an app with the library brings nothing of the old server to the new one`() async throws {
        try await Servers.run { servers in
            let statuses = try await LibraryUser(servers.url, as: nil).use(2) { servers.migrate() }
            // The resource of this test accepts no token any more.
            #expect(statuses == [200, 401, 401])
            #expect(servers.failed == [])
        }
    }

    @Test(arguments: [nil, Flaw.reusesClient])
    func `of two small clients, the right one passes and the wrong one fails`(flaw: Flaw?) async throws {
        try await Servers.run { servers in
            let client = SmallClient(flaw)
            try await client.use(servers.url)
            servers.migrate()
            try? await client.use(servers.url)
            #expect(
                servers.failed == (flaw == nil ? [] : ["reregister-on-as-change", "no-reuse-on-as-change"]))
        }
    }
}
