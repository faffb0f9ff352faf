import AppAuth
import AppAuthTestProvider
import ArgumentParser
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

@testable import SignInTool

@Suite(.timeLimit(.minutes(5)))
struct TokenTests {
    @Test func `a valid token is printed without any request`() async throws {
        try await withDesk { fixture in
            let login = try await fixture.login().result()
            let (requests, session) = (fixture.provider.log.count, try fixture.session())
            let json = try await fixture.run("token", "--json").result()
            #expect(
                json.object?.members.map(\.name).sorted() == ["access_token", "expires_at", "scope", "token_type"])
            #expect(json["token_type"]?.string == "Bearer")
            #expect(json["scope"]?.string == "openid profile offline_access")
            #expect(json["expires_at"] == login["access_token_expires_at"])
            let token = try #require(json["access_token"]?.string)
            #expect(fixture.provider.isAlive(token))
            let text = try await fixture.run("token")
            #expect(text.output == token + "\n" && text.errors.isEmpty && text.status == 0)
            #expect(fixture.provider.log.count == requests)
            #expect(try fixture.session() == session)
        }
    }

    @Test func `what the provider says beside the tokens is in the JSON`() async throws {
        try await withDesk { fixture in
            let more: JSON.Object = ["instance_url": "https://eu.example", "patient": "p-1"]
            fixture.provider.fault(
                .editDocument { for member in more.members { $0[member.name] = member.value } }, at: .token)
            try await fixture.signIn()
            for _ in 1...2 {
                let json = try await fixture.run("token", "--json").result()
                #expect(json["additional_parameters"] == .object(more))
            }
            // A response that has none leaves them.
            let refreshed = try await fixture.start(["token", "--json", "--force-refresh"]).outcome().result()
            #expect(refreshed["additional_parameters"] == .object(more))
        }
    }

    @Test func `a time limit of the user’s holds for each response too`() throws {
        let line = ["token", "--timeout", "80"]
        let command = try #require(try Tool.parseAsRoot(line) as? any Command)
        let console = Console(
            command, arguments: line, line: SignInLine(line), input: StandardInput(), limit: .seconds(80))
        let transport = try #require(console.environment.transport as? CurlTransport)
        #expect(transport.configuration.patience == .seconds(80))
    }

    @Test(arguments: [["--force-refresh"], ["--min-validity", "7200"]])
    func `--force-refresh refreshes the token with one request`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let old = try await fixture.run("token").output
            let requests = fixture.provider.log.count
            let json = try await fixture.start(["token", "--json"] + arguments).outcome().result()
            let token = try #require(json["access_token"]?.string)
            #expect(token + "\n" != old && fixture.provider.isAlive(token))
            #expect(fixture.provider.log.dropFirst(requests).map(\.endpoint) == [.token])
            // The new token is the stored one now.
            let printed = try await fixture.run("token")
            #expect(printed.output == token + "\n")
        }
    }

    @Test func `with --id-token an ID token is printed, and renewed with one request`() async throws {
        try await withDesk { fixture in
            let login = try await fixture.login().result()
            let json = try await fixture.run("token", "--id-token", "--json").result()
            #expect(json.object?.members.map(\.name).sorted() == ["expires_at", "id_token"])
            let token = try #require(json["id_token"]?.string)
            let claims = try JWS(compact: token).claims
            #expect(claims["sub"] == login["id_token_claims"]?["sub"])
            let text = try await fixture.run("token", "--id-token")
            #expect(text.output == token + "\n" && text.errors.isEmpty && text.status == 0)
            #expect(fixture.provider.count(.token) == 1)
            for option in [["--force-refresh"], ["--min-validity", "7200"]] {
                let count = fixture.provider.count(.token)
                let renewed = try await fixture.start(["token", "--id-token"] + option).outcome()
                #expect(renewed.status == 0 && renewed.output != text.output, "\(renewed)")
                #expect(fixture.provider.count(.token) == count + 1)
            }
        }
    }

    @Test func `a token that is valid for long enough is not refreshed`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let old = try await fixture.run("token").output
            let printed = try await fixture.run("token", "--min-validity", "3000")
            #expect(printed.output == old)
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `a token that has expired is refreshed`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["expires_in"] = 0 }, at: .token)
            try await fixture.signIn()
            let json = try await fixture.run("token", "--json").result()
            #expect(fixture.provider.isAlive(try #require(json["access_token"]?.string)))
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `waiting for the refresh of another process ends at the timeout and sends nothing`()
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn()
            try fixture.expire()
            let hold = fixture.provider.hold(.token)
            let first = try fixture.start(["token", "--json"])
            try await hold.arrived()
            let second = try await fixture.run("token", "--json", "--timeout", "6")
            #expect(try second.failure(1, "store").contains("process \(first.id) (sign-in) is refreshing it"))
            hold.release()
            _ = try await first.outcome().result()
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `a token without an expiry has none`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token)
            try await fixture.signIn()
            let printed = try await fixture.run("token", "--json")
            #expect(try printed.result().isNull("expires_at"))
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `a refresh that does not repeat them keeps scope, refresh token and claims`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let edit = Fault.editDocument { document in
                (document["scope"], document["refresh_token"], document["id_token"]) = (nil, nil, nil)
            }
            fixture.provider.fault(edit, at: .token)
            let json = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(json["scope"]?.string == "openid profile offline_access")
            let status = try await fixture.run("status", "--json").result()
            #expect(status["sessions"]?.array?.first?["has_refresh_token"] == true)
            #expect(status["sessions"]?.array?.first?["sub"]?.string == "248289761001")
        }
    }

    @Test func `a client with a secret is not asked for it again`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/secret"
            try "s3cret: 100% äß+/= and thirty-two".write(toFile: file, atomically: true, encoding: .utf8)
            _ = try await fixture.login("--client-secret-file", file, client: "demo-confidential").result()
            try FileManager.default.removeItem(atPath: file)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let report = try await fixture.run("logout", "--revoke-only", "--json").result()
            #expect(report["revoked"] == ["refresh_token", "access_token"])
        }
    }

    @Test func `with nothing stored a sign-in is required`() async throws {
        try await withDesk { fixture in
            for command in [["token"], ["userinfo"], ["request", "GET", fixture.provider.url(.api)]] {
                let outcome = try await fixture.start(command + ["--json"]).outcome()
                #expect(try outcome.failure(1, "sign_in_required").contains("sign-in login"))
                #expect(outcome.errorLines.count == 1)
            }
        }
    }
}
