import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
    @Test func `status lists the stored sessions without tokens and without requests`() async throws {
        try await withDesk { fixture in
            let login = try await fixture.login().result()
            let requests = fixture.provider.log.count
            let outcome = try await fixture.run("status", "--json")
            let entry = try #require(try outcome.result()["sessions"]?.array?.first)
            #expect(
                entry.object?.members.map(\.name).sorted() == [
                    "access_token_expires_at", "client_id", "has_refresh_token", "id_token_error", "in_use", "issuer",
                    "reason", "refresh_before", "refresh_error", "refresh_paused_until", "sign_in_again_before",
                    "state",
                    "store", "sub", "user",
                ])
            #expect(entry["issuer"]?.string == fixture.issuer)
            #expect(entry["client_id"]?.string == "demo")
            #expect(entry["sub"]?.string == "248289761001" && entry["user"]?.string == "alice")
            #expect(entry["store"]?.string == "file:\(fixture.sessions)/\(try #require(fixture.stored.first))")
            #expect(entry["access_token_expires_at"] == login["access_token_expires_at"])
            #expect(entry["has_refresh_token"] == true)
            #expect(entry["state"]?.string == "signed_in")
            #expect(entry.isNull("reason"))

            let text = try await fixture.run("status")
            let host = fixture.issuer.replacing("http://", with: "")
            let block = [
                "  no profile: alice at \(host), signed in", "    issuer:  \(fixture.issuer)", "    client:  demo",
                "    token:   until \(login["access_token_expires_at"]?.string ?? ""), then refreshed", "    store:",
            ]
            #expect(text.outputLines.dropLast() == block[...], "\(text)")
            #expect(text.outputLines.last?.hasSuffix(entry["store"]?.string ?? "?") == true, "\(text)")
            let record = try fixture.record()
            for secret in [record.accessToken?.value, record.refreshToken, record.idToken?.rawValue] {
                let secret = try #require(secret?.reveal())
                #expect(!outcome.output.contains(secret) && !text.output.contains(secret))
            }
            #expect(fixture.provider.log.count == requests)
        }
    }

    @Test func `status says before which time to sign in again`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["authorization_expires_in"] = 86_400 }, at: .token)
            try await fixture.signIn()
            let entry = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            let end = try Date(#require(entry["sign_in_again_before"]?.string), strategy: .iso8601)
            #expect((86_300...86_400).contains(end.timeIntervalSinceNow))
            let text = try await fixture.run("status", with: ["TZ": "UTC"]).output.withSingleBlanks
            let day = end.formatted(.iso8601.year().month().day()).split(separator: "-").map { Int($0) ?? 0 }
            #expect(text.contains("sign in again before \(day[2]) "), "\(text)")
            #expect(text.contains(" \(day[0]), "), "\(text)")
        }
    }

    /// Hours for which the refresh token may stay unused, and until the user has to sign in again.
    @Test(arguments: [(24, nil, 24), (24, 48, 24), (48, 24, nil)] as [(Int, Int?, Int?)])
    func `status says before which time to use the session, unless the user has to sign in before`(
        unused: Int, end: Int?, shown: Int?
    ) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument {
                    $0["refresh_token_timeout"] = .number(.init(unused * 3600))
                    $0["authorization_expires_in"] = end.map { .number(.init($0 * 3600)) }
                }, at: .token)
            try await fixture.signIn()
            let entry = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            let before = try entry["refresh_before"]?.string.map { try Date($0, strategy: .iso8601) }
            let hours = before.map { Int(($0.timeIntervalSinceNow / 3600).rounded()) }
            #expect(hours == shown, "\(entry)")
            let text = try await fixture.run("status").output.withSingleBlanks
            #expect(text.contains("it ends unless it is refreshed before ") == (shown != nil), "\(text)")
        }
    }

    @Test func `a pause after Retry-After is listed and waited for, but not with --force-refresh`()
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.unavailable(retryAfter: 86_400), at: .token)
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "invalid_response")
            let entry = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array?.first)
            let until = try #require(entry["refresh_paused_until"]?.string)
            let wait = try Date(until, strategy: .iso8601).timeIntervalSinceNow
            #expect((200...300).contains(wait))
            #expect(entry["refresh_error"]?.string?.contains("503") == true && entry["state"] == "signed_in")
            #expect(try await fixture.run("status").output.contains("the next attempt is in"))
            let held = try await fixture.run("token", "--min-validity", "7200", "--json")
            #expect(try held.failure(1, "invalid_response").contains("the next attempt is in"))
            #expect(fixture.provider.count(.token) == 2)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let listed = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(listed?.isNull("refresh_paused_until") == true && listed?.isNull("refresh_error") == true)
        }
    }

    @Test func `each session and each profile has a block, and the profile in use has a mark`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            for name in ["work", "home"] { try await fixture.signIn(profile: name) }
            _ = try await fixture.run("use", "work")
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "home").result()
            let (text, host) = (try await fixture.run("status"), fixture.issuer.replacing("http://", with: ""))
            let blocks = text.output.components(separatedBy: "\n\n")
            #expect(
                blocks.map { $0.prefix { $0 != "\n" } } == [
                    "  home: \(host), signed out", "* work: alice at \(host), signed in",
                    "  no profile: alice at \(host), signed in",
                ])
            #expect(blocks[0].hasSuffix("file:\(fixture.sessions)/home.json"), "\(text)")
            let status = try await fixture.run("status", "--json").result()
            let sessions = try #require(status["sessions"]?.array)
            #expect(sessions.map { $0["profile"]?.string } == ["work", nil])
            #expect(sessions.map { $0["in_use"]?.bool } == [true, false])
            let signedOut: JSON = [
                "issuer": .string(fixture.issuer), "client_id": "demo", "in_use": false, "profile": "home",
                "store": .string("file:\(fixture.sessions)/home.json"),
            ]
            #expect(status["signed_out"]?.array == [signedOut], "\(status)")
            // These options are about sessions, of which a profile that is signed out has none in a named store.
            let other = try await fixture.run("status", "--json", "--client-id", "other").result()
            #expect(other == ["sessions": []])
            let store = ["--store", "file:\(fixture.sessions)/home.json"]
            #expect(try await fixture.start(["status", "--json"] + store).outcome().result() == ["sessions": []])
        }
    }

    @Test(arguments: [(67, true), (68, false)])
    func `a value that fits is beside its name`(count: Int, fits: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        let client = String(repeating: "c", count: count)
        configuration.clients.append(RegisteredClient(id: client, redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(client: client)
            let lines = try await fixture.run("status").outputLines
            #expect(lines.contains(fits ? "    client:  \(client)" : "    | \(client)"), "\(lines)")
        }
    }

    /// What one must copy is not split, so it has a line of its own.
    @Test func `the blocks fit a terminal of 80 cells`() async throws {
        try await withDesk { fixture in
            let edit = Fault.editIDToken { token in
                token.claims["preferred_username"] = .string(String(repeating: "愛麗絲", count: 30))
            }
            fixture.provider.fault(edit, at: .token)
            let name = String(repeating: "n", count: 32)
            let store = "file:\(fixture.home)/" + String(repeating: "long", count: 20)
            _ = try await fixture.login("--profile", name, "--store", store).result()
            fixture.provider.fault(.editIDToken { $0.claims["sub"] = "another" }, at: .token)
            _ = try await fixture.run("token", "--profile", name, "--force-refresh")
            let text = try await fixture.run("status")
            #expect(
                text.outputLines.dropFirst().first == "  | 127.0.0.1:\(fixture.issuer.split(separator: ":")[2]), ended",
                "\(text)")
            #expect(
                text.outputLines.contains { $0.hasPrefix("    reason:  ") } && text.output.contains("…'"), "\(text)")
            // What does not fit is below its name, so that the block is still one.
            #expect(text.outputLines.contains("      " + store), "\(text)")
            for line in text.outputLines where !line.hasSuffix(store) {
                let cells = line.unicodeScalars.reduce(0) { $0 + ($1.value >= 0x2E80 ? 2 : 1) }
                #expect(cells <= 80, "\(line)")
            }
        }
    }

    @Test func `with --profile, the status is 1 unless that profile is signed in`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let listed = try await fixture.run("status", "--profile", "work")
            #expect(listed.status == 0 && listed.output.contains("work: "), "\(listed)")
            #expect(["issuer", "client", "token", "store"].allSatisfy { listed.output.contains("    \($0):") })
            #expect(try await fixture.run("status", "--profile", "wrok", "--json").wrongUsage().contains("work"))

            fixture.provider.fault(.editIDToken { $0.claims["sub"] = "another" }, at: .token)
            try await fixture.run("token", "--profile", "work", "--force-refresh", "--json")
                .failure(1, "sign_in_required")
            let ended = try await fixture.run("status", "--profile", "work")
            let line = "the profile is not signed in. Sign in with: sign-in login --profile work"
            #expect(ended.status == 1 && ended.errors == "sign-in: \(line)\n", "\(ended)")
            #expect(ended.output.contains(", ended\n    ") && ended.output.contains("    reason:  "), "\(ended)")
            #expect(!ended.output.contains("    token:"), "\(ended)")
            #expect(try await fixture.run("status", "--json").result()["sessions"]?.array?.count == 1)

            _ = try await fixture.run("logout", "--profile", "work", "--local").status
            let gone = try await fixture.run("status", "--profile", "work", "--json")
            #expect(try gone.failure(1, "sign_in_required") == line, "\(gone)")
        }
    }

    @Test func `an expired session that cannot be refreshed is not called signed in`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid", profile: "work")
            #expect(try await fixture.run("status").output.contains(", signed in\n"))
            try fixture.expire()
            #expect(try await fixture.run("status", "--profile", "work").status == 1)
            let text = try await fixture.run("status")
            #expect(text.output.contains(", expired\n") && !text.output.contains("signed"), "\(text)")
            let entry = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(entry?["state"] == "signed_in" && entry?["has_refresh_token"] == false)
        }
    }

    @Test(arguments: [nil, "work"])
    func `a session that has ended has the command that signs in again, and it works`(profile: String?) async throws {
        try await withDesk { fixture in
            let store = profile == nil ? ["--store", "file:\(fixture.home)/it's  here"] : ["--profile", "work"]
            let login = fixture.loginArguments(store)
            _ = try await fixture.start(login).outcome().result()
            let status = ["status"] + (profile == nil ? store : [])
            #expect(try await !fixture.start(status).outcome().output.contains("Sign in again"))
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let token = try await fixture.start(["token", "--force-refresh", "--json"] + store).outcome()
            try token.failure(1, "sign_in_required")
            let lines = try await fixture.start(status).outcome().outputLines
            #expect(lines.dropLast().last == "    Sign in again with:", "\(lines)")
            let line = try #require(lines.last).trimmed
            _ = try await fixture.start(["sh", "-c", "\(line) --json"], []).outcome().result()
            #expect(try await !fixture.start(status).outcome().output.contains("Sign in again"))
        }
    }

    @Test func `without sessions status lists none and creates no folder`() async throws {
        try await withDesk { fixture in
            let listed = try await fixture.run("status", "--json")
            #expect(try listed.result() == ["sessions": []])
            let text = try await fixture.run("status")
            #expect(text.output == "No session is stored.\n")
            #expect(!FileManager.default.fileExists(atPath: fixture.stateHome))
        }
    }

    @Test func `a damaged session does not hide the others`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.sessions + "/zzz.json"))
            let outcome = try await fixture.run("status", "--json")
            #expect(try outcome.result()["sessions"]?.array?.count == 1)
            #expect(outcome.errorLines.count == 1 && outcome.errors.contains("zzz.json"))
        }
    }
}
