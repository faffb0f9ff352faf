import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// What a profile remembers of the resource that it signs in to.
@Suite(.timeLimit(.minutes(5)))
struct ResourceProfileTests {
    /// Otherwise a helper or proxy with its name would follow it there, with the token of another server.
    @Test(arguments: ["login", "device"])
    func `a profile is not given to another provider, resource or store before it is forgotten`(
        command: String
    ) async throws {
        try await withResource { fixture, server, url in
            try await fixture.signIn(profile: "work")
            let name = ["--profile", "work"]
            let client = ["--client-id", "demo"]
            for line in [
                ["--resource", url] + name, ["--issuer", "https://op.example"] + client + name,
                ["--issuer", fixture.issuer, "--store", "file:\(fixture.home)/elsewhere.json"] + client + name,
                ["--issuer", fixture.issuer, "--resource", url] + client + name,
            ] {
                let message = try await fixture.start([command, "--json"] + line).outcome()
                    .failure(1, "session_replaced")
                #expect(
                    message.hasPrefix("the profile 'work' signs in with --issuer \(fixture.issuer) only")
                        && message.contains("sign-in logout --profile work --forget"), "\(message)")
                // A provider that has changed its name is still the same.
                let again = ". Then sign in with: sign-in \(command) --issuer https://op.example --client-id demo"
                let isRenamed = command == "login" && line[1] == "https://op.example"
                #expect(
                    message.hasSuffix("--forget") != isRenamed && message.contains(again) == isRenamed, "\(message)")
            }
            // Nor is its session replaced under another name.
            for place in ["--profile=play", "--json"] {
                let store = "file:\(fixture.sessions)/work.json"
                try await fixture.start([command, "--json", "--resource", url, "--store", store, place]).outcome()
                    .failure(1, "session_replaced")
            }
            #expect(server.requests.isEmpty && fixture.provider.count(.openIDConfiguration) == 1)
            _ = try await fixture.login("--profile", "work", "--scope", "openid").result()
            _ = try await fixture.run("logout", "--profile", "work", "--forget", "--revoke-only", "--json").result()
            let line = ["login", "--json", "--resource", url, "--scope", "openid"] + name
            _ = try await fixture.start(line).outcome().result()
            #expect(try await fixture.run("status", "--json", "--profile", "work").result() != .null)
        }
    }

    @Test(arguments: [false, true])
    func `a client that only a profile remembers is not used at another server`(isSignedOut: Bool) async throws {
        try await withResourceProvider { fixture, url in
            let login = ["login", "--json", "--resource", url, "--client-id", "demo", "--profile", "work"]
            _ = try await fixture.start(login).outcome().result()
            if isSignedOut {
                _ = try await fixture.start(["logout", "--json", "--local", "--profile", "work"]).outcome().result()
            }
            try await withLocalProvider(.demo) { other in
                let issuer = other.issuer
                fixture.provider.fault(
                    .editDocument { $0["authorization_servers"] = [.string(issuer)] }, at: .resourceMetadata, times: nil
                )
                let again = try await fixture.start(["login", "--json", "--profile", "work"]).outcome()
                let message = try again.failure(1, "issuer_mismatch")
                #expect(message.contains("belongs to \(fixture.issuer), and the resource is now"), "\(message)")
                #expect(other.count(.authorization) == 0)
            }
        }
    }

    @Test func `a new profile in the variable names the session of a resource`() async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, with: ["SIGN_IN_PROFILE": "notes"]).result()
            #expect(fixture.stored.contains("notes.json") && fixture.stored.contains("notes.profile"))
        }
    }

    @Test func `a resource is asked even while a profile for something else is in use`() async throws {
        try await withResourceProvider {
            $0.users.append(.bob)
        } _: { fixture, url in
            _ = try await fixture.login("--profile", "bob", with: CommandFixture.bob).result()
            _ = try await fixture.run("use", "bob")
            for variables in [[:], ["SIGN_IN_PROFILE": "bob"]] {
                let session = try await fixture.run("login", "--json", "--resource", url, with: variables).result()
                #expect(session["client_id"] != "demo" && session["scope"] == "offline_access api")
            }
            #expect(fixture.provider.count(.api) == 2)
            #expect(try await fixture.run("userinfo", "--json").result()["sub"] == "bob")
            let requests = fixture.provider.log.count
            try await fixture.run("login", "--json", "--resource", "ftp://x.example").failure(
                1, "invalid_configuration")
            #expect(fixture.provider.log.count == requests)
        }
    }

    @Test func `the profile in use signs in again for the resource that it remembers`() async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, "--profile", "notes").result()
            _ = try await fixture.run("use", "notes")
            for options in [[], ["--profile", "notes"]] {
                _ = try await fixture.start(["login", "--json", "--resource", url] + options).outcome().result()
            }
            #expect(fixture.stored.filter { $0.hasSuffix(".json") } == ["notes.json"])
            #expect(fixture.provider.count(.api) == 3)
        }
    }

    /// The user has typed it for what the issuer used then (RFC 9700 §4.4).
    @Test func `the issuer that a profile remembers chooses a server, and is no agreement to what it uses now`()
        async throws
    {
        try await withResourceProvider {
            $0.sendsIssuerParameter = false
        } _: { fixture, url in
            let named = ["login", "--json", "--resource", url, "--issuer", fixture.issuer, "--profile", "notes"]
            _ = try await fixture.start(named).outcome().result()
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = "https://other.example/authorize" },
                at: .openIDConfiguration, times: nil)
            let message = try await fixture.run("login", "--json", "--profile", "notes")
                .failure(1, "confirmation_required")
            #expect(message.contains("uses other.example") && fixture.browser.visits.count == 1, "\(message)")
            for option in ["--issuer", "--resource"] {
                #expect(message.ranges(of: option + " ").count == 1, "\(message)")
            }
            // On the command line of this call, it is the agreement.
            let line = try #require(message.components(separatedBy: "sign in with: ").last)
            let again = try fixture.start(["sh", "-c", "exec \(line) --no-browser --json"], [])
            #expect(try await Redirects(again).url.hasPrefix("https://other.example/authorize"))
            again.send(SIGINT)
            _ = try await again.outcome()
        }
    }

    @Test func `the line for a device leaves the issuer of a profile to the resource`() async throws {
        try await withResourceProvider { fixture, url in
            let named = ["login", "--json", "--resource", url, "--issuer", fixture.issuer, "--profile", "notes"]
            _ = try await fixture.start(named).outcome().result()
            for (line, isNamed) in [(named, true), (["login", "--json", "--profile", "notes"], false)] {
                let process = try fixture.start(line + ["--no-browser"])
                let offer = try await process.line { $0.hasPrefix("  sign-in device ") }
                #expect(offer.contains("--issuer \(fixture.issuer)") == isNamed && offer.contains(url), "\(offer)")
                process.send(SIGINT)
                _ = try await process.outcome()
            }
        }
    }

    @Test func `a profile remembers the resource`() async throws {
        try await withResourceProvider { fixture, url in
            let first = try await fixture.run("login", "--json", "--resource", url, "--profile", "work").result()
            let second = try await fixture.run("login", "--json", "--profile", "work").result()
            #expect(first["client_id"] == second["client_id"] && fixture.provider.count(.api) == 2)
            let response = try await fixture.run("request", "GET", url, "--profile", "work", "--json")
            #expect(try response.result()["status"] == 200)
            let listed = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(listed?["resources"] == [.string(url)])
            #expect(try await fixture.run("status").output.withSingleBlanks.contains("for: \(url)"))
        }
    }
}
