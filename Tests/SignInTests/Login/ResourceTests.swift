import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `--resource` without `--issuer`: the resource says where to sign in (RFC 9728).
@Suite(.timeLimit(.minutes(5)))
struct ResourceTests {
    @Test func `the resource alone suffices to sign in, register and use it`() async throws {
        try await withResourceProvider { fixture, url in
            let outcome = try await fixture.run("login", "--json", "--resource", url)
            let session = try outcome.result()
            #expect(session["issuer"]?.string == fixture.issuer && session["scope"] == "offline_access api")
            #expect(session.isNull("id_token_claims") && session["has_refresh_token"] == true)
            #expect(outcome.errorLines.first == "\(url) is protected by \(fixture.issuer).")
            let id = try #require(session["client_id"]?.string)
            #expect(outcome.errorLines.contains("Registered there as \(id)."))
            let registered = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            #expect(registered["scope"] == "api offline_access" && registered["client_name"] == "sign-in")
            let requested = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(requested.values("resource") == [url] && requested["scope"] == "api offline_access")
            #expect(fixture.provider.log(.token).first?.form.values("resource") == [url])
            let response = try await fixture.run("request", "GET", url, "--json").result()
            #expect(response["status"] == 200)

            // The client is kept, and its registered redirect URI is used again.
            let again = try await fixture.run("login", "--json", "--resource", url)
            #expect(try again.result()["client_id"]?.string == id)
            #expect(fixture.provider.count(.clientRegistration) == 1)
            let uris = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(Set(uris).count == 1)
        }
    }

    @Test func `a device signs in for a resource`() async throws {
        try await withResourceProvider { fixture, url in
            // The second time, with the client that the first has registered.
            for options in [[], ["--issuer", fixture.issuer]] {
                let process = try fixture.start(["device", "--json", "--resource", url] + options)
                try await DeviceCode(process).decide("allow")
                #expect(try await process.outcome().result()["issuer"]?.string == fixture.issuer)
            }
            #expect(fixture.provider.count(.clientRegistration) == 1)
            #expect(fixture.provider.log(.deviceAuthorization).first?.form.values("resource") == [url])
            #expect(fixture.provider.log(.token).allSatisfy { $0.form.values("resource") == [url] })
            #expect(try await fixture.run("request", "GET", url, "--json").result()["status"] == 200)
        }
    }

    @Test func `a pasted address signs in for a resource`() async throws {
        try await withResourceProvider { fixture, url in
            let typing = try Typing()
            let process = try fixture.start(
                ["login", "--json", "--no-browser", "--resource", url], input: typing.input)
            typing.write(try await Redirects(process).signInElsewhere() + "\n")
            let outcome = try await process.outcome()
            #expect(try outcome.result()["issuer"]?.string == fixture.issuer)
            let device = try #require(outcome.errorLines.first { $0.contains("sign-in device") })
            // The client's ID is the server's word, and would be the user's at whichever server the resource names then.
            #expect(device.contains("--resource \(url)") && !device.contains("--client-id"))
        }
    }

    @Test func `the issuer must be one that the resource names`() async throws {
        var description = ResourceDescription(scopes: ["api"])
        description.authorizationServers = ["https://a.example", "https://b.example", "https://a.example"]
        try await withResourceProvider(description) { fixture, url in
            let several = try await fixture.run("login", "--json", "--resource", url).wrongUsage()
            let text = try await fixture.run("login", "--resource", url)
            #expect(text.status == 2 && text.errorLines.count == 5, "\(text)")
            #expect(text.errorLines[0].hasPrefix("sign-in: \(url) has several") && text.errorLines[0].hasSuffix(":"))
            let lines = ["a", "b"].flatMap { host in
                [
                    "  \(host).example, whose metadata could not be fetched:",
                    "    sign-in login --resource \(url) --scope api --issuer https://\(host).example",
                ]
            }
            #expect(Array(text.errorLines.dropFirst()) == lines, "\(text)")
            let line = "sign-in login --json --resource \(url) --scope api --issuer https://"
            let choices = ["a", "b"].map { "\($0).example, whose metadata could not be fetched: \(line)\($0).example" }
            #expect(several.contains(choices.joined(separator: ", or ")), "\(several)")
            for command in ["login", "device"] {
                let other = try await fixture.run(
                    command, "--json", "--resource", url, "--issuer", fixture.issuer)
                try other.failure(1, "issuer_mismatch")
            }
            let asked = [fixture.provider.count(.api), fixture.provider.count(.resourceMetadata)]
            #expect(asked == [4, 4] && fixture.provider.log.count == 8)
        }
        description.authorizationServers = nil
        try await withResourceProvider(description) { fixture, url in
            let chosen = try await fixture.run("login", "--json", "--resource", url, "--issuer", fixture.issuer)
            #expect(try chosen.result()["issuer"]?.string == fixture.issuer)
        }
    }

    @Test func `metadata about another resource, or none, ends the sign-in before the browser opens`() async throws {
        try await withResourceProvider { fixture, url in
            fixture.provider.fault(.editDocument { $0["resource"] = "https://other.example" }, at: .resourceMetadata)
            try await fixture.run("login", "--json", "--resource", url).failure(1, "resource_mismatch")
            for location in [Endpoint.resourceMetadata, .openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.status(.notFound), at: location)
            }
            let missing = try await fixture.run("login", "--json", "--resource", url)
            #expect(try missing.failure(1, "invalid_response").contains("no metadata of the resource"))
            #expect(fixture.browser.visits.isEmpty && fixture.provider.count(.clientRegistration) == 0)
        }
    }

    @Test(arguments: [
        ["--resource", "https://a.example", "--resource", "https://b.example"],
        ["--resource", "https://a.example", "--client-document", "http://127.0.0.1/c"],
        ["--client-document", "https://app.example/client.json"],
    ])
    func `an impossible combination is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["login", "--json"] + arguments).outcome().wrongUsage()
        }
    }

    @Test func `a request that lacks a scope names --step-up, and signing in with the scope satisfies the resource`()
        async throws
    {
        try await withResourceProvider { fixture, url in
            let login = ["login", "--json", "--resource", url, "--scope"]
            fixture.provider.fault(.editDocument { $0["scope"] = "profile" }, at: .clientRegistration)
            _ = try await fixture.start(login + ["profile"]).outcome().result()
            let refused = try await fixture.run("request", "GET", url)
            #expect(refused.status == 1, "\(refused)")
            #expect(refused.errorLines.last?.hasSuffix("repeat this command with --step-up.") == true, "\(refused)")
            _ = try await fixture.start(login + ["profile api"]).outcome().result()
            // The first client was registered for fewer scopes.
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    @Test(arguments: [true, false])
    func `a request steps up to the scopes that it needs`(areNamed: Bool) async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, "--scope", "profile offline_access")
                .result()
            let scope = areNamed ? #", scope="api""# : ""
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope""# + scope]), at: .api)
            let outcome = try await fixture.run("request", "GET", url, "--step-up", "--json")
            let response = try outcome.result()
            #expect(response["status"] == 200 && response["body"]?["scope"] == "profile offline_access api")
            let host = fixture.issuer.replacing("http://", with: "")
            #expect(
                outcome.errorLines.contains(
                    "\(host)/api/echo requires another sign-in: the scopes 'api'. Signing in again."))
            let requested = try #require(fixture.provider.log(.authorization).last?.query)
            #expect(requested.values("resource") == [url] && requested["scope"] == "profile offline_access api")
            #expect(fixture.stored.filter { $0.hasSuffix(".json") }.count == 1)
            #expect(fixture.provider.count(.clientRegistration) == 1)
            #expect(try await fixture.run("request", "GET", url, "--json").result()["status"] == 200)
        }
    }

    @Test func `a step-up keeps the session if the browser signs in another user`() async throws {
        try await withResourceProvider {
            $0.users.append(.bob)
        } _: { fixture, url in
            let login = fixture.loginArguments(["--resource", url, "--scope", "openid profile offline_access"])
            _ = try await fixture.start(login).outcome().result()
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="api""#]), at: .api)
            let outcome = try await fixture.run(
                "request", "GET", url, "--step-up", "--json",
                with: CommandFixture.bob)
            #expect(try outcome.failure(1, "session_replaced").contains("another user"))
            let stored = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(stored?["sub"] == "248289761001" && stored?["state"] == "signed_in")
        }
    }

    @Test(arguments: [
        ("api", "The session has the scopes that the resource requires"), ("", "The resource does not say"),
    ])
    func `a request does not sign in again if that adds no scope`(scope: String, reason: String) async throws {
        try await withResourceProvider { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            fixture.provider.fault(.editDocument { $0["scopes_supported"] = nil }, at: .resourceMetadata)
            let challenge = #"Bearer error="insufficient_scope", scope="\#(scope)""#
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api, times: 2)
            let outcome = try await fixture.run("request", "GET", url, "--step-up", "--json")
            #expect(try outcome.status == 1 && outcome.json()["status"] == 403)
            #expect(outcome.errorLines.last?.hasPrefix(reason) == true, "\(outcome)")
            #expect(fixture.provider.count(.authorization) == 1)
        }
    }

    @Test func `tokens are bound to a key if the resource requires it`() async throws {
        try await withResourceProvider { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["dpop_bound_access_tokens_required"] = true }, at: .resourceMetadata)
            let session = try await fixture.run("login", "--json", "--resource", url).result()
            #expect(session["token_type"] == "DPoP")
        }
    }
}
