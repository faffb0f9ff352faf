import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Which session `sign-in proxy` uses for a resource.
@Suite(.timeLimit(.minutes(5)))
struct ProxySessionTests {
    /// A file with another name than the usual one.
    @Test func `the resource chooses its session, not another one of the same client`() async throws {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            _ = try await fixture.login().result()
            let place = "file:\(fixture.sessions)/my notes.json"
            _ = try await fixture.login("--resource", resource, "--store", place, "--scope", "openid").result()
            let token = try #require(await fixture.start(["token", "--store", place]).outcome().outputLines.first)
            let process = try fixture.start(["proxy", "--resource", resource])
            let address = try await process.outputLine { !$0.isEmpty }
            _ = try await curl(fixture, address)
            #expect(fixture.provider.log(.api).last?.headers[.authorization] == "Bearer \(token)")
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    /// Some servers give each registration the same client ID.
    @Test func `a resource's session in the keyring is not the same client's own`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                let resource = "\(fixture.issuer)/api/echo"
                let login = ["login", "--json", "--resource", resource, "--store", "keyring", "--scope", "openid"]
                _ = try await fixture.start(login, bus).outcome().result()
                let sent = try #require(fixture.provider.log(.authorization).last?.query)
                let client = try #require(sent["client_id"])
                let path = try #require(sent["redirect_uri"].flatMap(URL.init(string:))?.path)
                let own = ["--issuer", fixture.issuer, "--client-id", client]
                let line = ["login", "--json", "--redirect-path", path] + own
                _ = try await fixture.start(line, bus).outcome().result()

                let place = "keyring:sign-in/resource \(resource) \(fixture.issuer) \(client)"
                let choices = try await fixture.start(["token", "--json"], bus).outcome().wrongUsage()
                #expect(choices.contains("--store '\(place)'"), "\(choices)")
                #expect(choices.contains(own.joined(separator: " ")), "\(choices)")
                var tokens: [String] = []
                for choice in [["--store", place], own] {
                    let outcome = try await fixture.start(["token", "--json"] + choice, bus).outcome()
                    tokens.append(try outcome.result()["access_token"]?.string ?? "")
                }
                #expect(tokens[1] != tokens[0])
                for choice in [[], ["--store", "keyring"], own] {
                    let process = try fixture.start(["proxy", "--resource", resource] + choice, bus)
                    let address = try await process.outputLine { !$0.isEmpty }
                    #expect(try await curl(fixture, address).status == 200)
                    #expect(fixture.provider.log(.api).last?.headers[.authorization] == "Bearer \(tokens[0])")
                    process.send(SIGTERM)
                    _ = try await process.outcome()
                }
                let file = "file:\(fixture.sessions)/\(try #require(fixture.stored.first { $0.hasSuffix(".json") }))"
                let wrong = try await fixture.start(["proxy", "--json", "--resource", resource, "--store", file])
                    .outcome()
                let message = try wrong.failure(1, "sign_in_required")
                #expect(message.contains("has no session for \(resource). Sign in with"), "\(message)")
                let end = ["logout", "--json", "--revoke-only", "--store", place]
                _ = try await fixture.start(end, bus).outcome().result()
                let rest = try await fixture.start(["token", "--json"], bus).outcome().result()
                #expect(rest["access_token"]?.string == tokens[1])
                // No sign-in takes such a place.
                try await fixture.start(line + ["--store", place], bus).outcome().wrongUsage()
            }
        }
    }

    @Test func `the resource chooses the session that is for it`() async throws {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            let none = try await fixture.run("proxy", "--json", "--resource", resource)
            #expect(none.status == 1)
            #expect(none.output.contains("Sign in with: sign-in login --resource \(resource)"), "\(none)")
            try await fixture.signIn(profile: "other")
            _ = try await fixture.login("--resource", resource).result()
            let process = try fixture.start(["proxy", "--resource", resource])
            let address = try await process.outputLine { !$0.isEmpty }
            #expect(address.hasSuffix("/api/echo"))
            #expect(try await curl(fixture, address).status == 200)
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    /// Its tokens are not for this server.
    @Test func `a proxy does not go on with a session for something else`() async throws {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            let store = ["--store", "file:\(fixture.home)/session"]
            for (again, status) in [(["--resource", resource], 200), ([], 503)] {
                _ = try await fixture.start(fixture.loginArguments(store + ["--resource", resource])).outcome().result()
                let process = try fixture.start(["proxy", "--resource", resource] + store)
                let address = try await process.outputLine { !$0.isEmpty }
                #expect(try await curl(fixture, address).status == 200)
                _ = try await fixture.start(["logout", "--revoke-only", "--json"] + store).outcome().result()
                #expect(try await curl(fixture, address).status == 503)
                _ = try await fixture.start(fixture.loginArguments(store + again)).outcome().result()
                for _ in 0..<2 { #expect(try await curl(fixture, address).status == status) }
                process.send(SIGTERM)
                _ = try await process.outcome()
            }
        }
    }

    @Test func `a session at a provider that merely lists the resource is not for it`() async throws {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            fixture.provider.fault(
                .editDocument { $0["protected_resources"] = .array([.string(resource)]) }, at: .openIDConfiguration,
                times: .max)
            try await fixture.signIn()
            let none = try await fixture.run("proxy", "--json", "--resource", resource)
            #expect(try none.failure(1, "sign_in_required").contains("no session is for \(resource)"), "\(none)")
            // Also outside of the line to paste, a URL runs nothing.
            let odd = try await fixture.run("proxy", "--json", "--resource", "https://api.example/$(id);id")
            let message = try odd.failure(1, "sign_in_required")
            #expect(message.contains("no session is for https://api.example/%24%28id%29%3Bid"), "\(message)")
        }
    }
}
