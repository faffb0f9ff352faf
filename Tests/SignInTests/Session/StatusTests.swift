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
                    "access_token_expires_at", "client_id", "has_refresh_token", "id_token_error", "issuer", "reason",
                    "refresh_error", "refresh_paused_until", "state", "store", "sub", "user",
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
            #expect(text.outputLines.first?.hasPrefix("PROFILE  USER") == true, "\(text)")
            let row = "–        alice  \(fixture.issuer)  demo    signed in  "
            #expect(text.outputLines.count == 2 && text.outputLines[1].hasPrefix(row), "\(text)")
            let record = try fixture.record()
            for secret in [record.accessToken?.value, record.refreshToken, record.idToken?.rawValue] {
                let secret = try #require(secret?.reveal())
                #expect(!outcome.output.contains(secret) && !text.output.contains(secret))
            }
            #expect(fixture.provider.log.count == requests)
        }
    }

    @Test func `a pause after Retry-After is listed and waited for, but not with --force-refresh`()
        async throws
    {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
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

    @Test func `several sessions are listed below a header`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let work = try await fixture.login("--profile", "work").result()
            let lines = try await fixture.run("status").outputLines
            #expect(lines.count == 3 && lines[0].hasPrefix("PROFILE  USER"), "\(lines)")
            let cells = lines[1].split(separator: " ").map(String.init)
            let expiry = try #require(work["access_token_expires_at"]?.string)
            let store = "file:\(fixture.sessions)/work.json"
            #expect(cells == ["work", "alice", fixture.issuer, "demo", "signed", "in", expiry, store])
            let entries = try #require(try await fixture.run("status", "--json").result()["sessions"]?.array)
            #expect(entries.map { $0["profile"]?.string } == ["work", nil])
        }
    }

    @Test func `with --profile, the status is 1 unless that profile is signed in`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let listed = try await fixture.run("status", "--profile", "work")
            #expect(listed.status == 0 && listed.outputLines.count == 2, "\(listed)")
            #expect(try await fixture.run("status", "--profile", "wrok", "--json").wrongUsage().contains("work"))

            fixture.provider.fault(.editIDToken { $0.claims["sub"] = "another" }, at: .token)
            try await fixture.run("token", "--profile", "work", "--force-refresh", "--json")
                .failure(1, "sign_in_required")
            let ended = try await fixture.run("status", "--profile", "work")
            let line = "the profile is not signed in. Sign in with: sign-in login --profile work"
            #expect(ended.status == 1 && ended.errors == "sign-in: \(line)\n", "\(ended)")
            // The reason is not in a column, which would make all rows long.
            let lines = ended.outputLines
            try #require(lines.count == 4)
            #expect(lines[1].contains("  ended  ") && lines[1].count < 200, "\(lines)")
            #expect(lines[2].isEmpty && lines[3].hasPrefix("work: "), "\(lines)")
            #expect(try await fixture.run("status", "--json").result()["sessions"]?.array?.count == 1)

            _ = try await fixture.run("logout", "--profile", "work", "--local").status
            let gone = try await fixture.run("status", "--profile", "work", "--json")
            #expect(try gone.failure(1, "sign_in_required") == line, "\(gone)")
        }
    }

    @Test func `an expired session that cannot be refreshed is not called signed in`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--scope", "openid", "--profile", "work").result()
            #expect(try await fixture.run("status").output.contains("  signed in  "))
            try fixture.expire()
            #expect(try await fixture.run("status", "--profile", "work").status == 1)
            for command in ["status", "accounts"] {
                let text = try await fixture.run(command)
                #expect(text.output.contains("  expired  ") && !text.output.contains("signed"), "\(text)")
            }
            let entry = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(entry?["state"] == "signed_in" && entry?["has_refresh_token"] == false)
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
            _ = try await fixture.login().result()
            try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.sessions + "/zzz.json"))
            let outcome = try await fixture.run("status", "--json")
            #expect(try outcome.result()["sessions"]?.array?.count == 1)
            #expect(outcome.errorLines.count == 1 && outcome.errors.contains("zzz.json"))
        }
    }
}
