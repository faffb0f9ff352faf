import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

@Suite(.timeLimit(.minutes(5)))
struct LogoutTests {
    @Test func `the tokens are revoked in order, the browser ends the session, and the file is removed`() async throws {
        try await withDesk { fixture in
            let listener = try LoopbackRedirectListener()
            listener.close()
            let port = listener.redirectURI.firstMatch(of: /:(\d+)/).map { String($0.1) } ?? ""
            _ = try await fixture.login("--redirect-port", port).result()
            let record = try fixture.record()
            let json = try await fixture.run("logout", "--json").result()
            #expect(json == ["revoked": ["refresh_token", "access_token"], "session_ended": true])
            #expect(fixture.stored.isEmpty)

            let revocations = fixture.provider.log(.revocation)
            #expect(revocations.map { $0.form["token_type_hint"] } == ["refresh_token", "access_token"])
            #expect(revocations.first?.form["token"] == record.refreshToken?.reveal())
            #expect(revocations.last?.form["token"] == record.accessToken?.value.reveal())

            let end = try #require(fixture.provider.log(.endSession).first)
            let idToken = try #require(record.idToken?.rawValue.reveal())
            #expect(end.query.names.sorted() == ["client_id", "id_token_hint", "post_logout_redirect_uri", "state"])
            #expect(end.query["id_token_hint"] == idToken)
            #expect(end.query["client_id"] == "demo")
            let location = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(end.query["post_logout_redirect_uri"] == location)

            let page = try await fixture.browser.page(2)
            #expect(page.contains("You are signed out") && page.contains("terminal"), "\(page)")
            #expect(await Redirects.isClosed(location))
        }
    }

    @Test func `only the tokens that there were are reported as revoked`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid")
            #expect(try await fixture.run("logout", "--revoke-only", "--json").result()["revoked"] == ["access_token"])
        }
    }

    /// A page of it could not load.
    @Test func `a provider on loopback that has ended is not opened in the browser`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            await fixture.provider.stop()
            let outcome = try await fixture.run("logout", "--json")
            #expect(try outcome.result()["session_ended"] == false && fixture.stored == [])
            #expect(outcome.errors.contains("the provider did not confirm the sign-out: "), "\(outcome)")
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test func `--all signs out of each session, and a damaged one does not keep the others`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            _ = try await fixture.login("--profile", "work", "--store", "file:\(fixture.home)/work").result()
            let json = try await fixture.run("logout", "--all", "--revoke-only", "--json").result()
            let revoked: JSON = ["refresh_token", "access_token"]
            #expect(json["sessions"]?.array?.map { $0["revoked"] } == [revoked, revoked], "\(json)")
            #expect(fixture.stored == ["work.profile"] && fixture.provider.count(.revocation) == 4)
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/work"))

            try await fixture.signIn()
            try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.sessions + "/a.json"))
            let damaged = try await fixture.run("logout", "--all", "--revoke-only", "--json")
            #expect(damaged.status == 1 && damaged.errorLines.count == 1, "\(damaged)")
            let report = try damaged.json()
            #expect(report["error"]?["message"]?.string?.contains("a.json is damaged") == true, "\(damaged)")
            // The profile without a session does not count.
            let sessions = try #require(report["sessions"]?.array)
            #expect(sessions.map { $0["revoked"] } == [revoked, nil], "\(damaged)")
            #expect(sessions.map { $0["error"] } == [nil, report["error"]], "\(damaged)")
            #expect(sessions.last?["store"]?.string == "file:\(fixture.sessions)/a.json")
            #expect(fixture.stored == ["a.json", "work.profile"])
        }
    }

    @Test func `--all says about which session a message is`() async throws {
        try await withDesk { fixture in
            for name in ["home", "work"] { try await fixture.signIn(profile: name) }
            let outcome = try await fixture.run("logout", "--all", "--local")
            #expect(outcome.status == 0 && outcome.errorLines.count == 4, "\(outcome)")
            for name in ["home", "work"] {
                let prefix = "sign-in: file:\(fixture.sessions)/\(name).json: the "
                let lines = outcome.errorLines.filter { $0.hasPrefix(prefix) && $0.contains("token stays valid until") }
                #expect(lines.count == 2, "\(outcome)")
            }
        }
    }

    @Test func `--all counts the sessions that there were`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try await fixture.signIn(profile: "home")
            _ = try await fixture.run("logout", "--local", "--profile", "home")
            #expect(try await fixture.run("logout", "--all", "--local").output == "Signed out of 1 session.\n")
            #expect(fixture.stored == ["home.profile", "work.profile"])
        }
    }

    /// Its session may be elsewhere, where nothing was signed out.
    @Test func `--all fails for a damaged profile, and signs out of the others`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "home", "--store", "file:\(fixture.home)/home").result()
            try await fixture.signIn(profile: "work")
            try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.sessions + "/home.profile"))
            let outcome = try await fixture.run("logout", "--all", "--revoke-only", "--json")
            #expect(outcome.status == 1, "\(outcome)")
            let message = try #require(outcome.json()["error"]?["message"]?.string)
            #expect(message.contains("home.profile is damaged"), "\(message)")
            #expect(message.hasSuffix("remove it: sign-in logout --profile home --forget"), "\(message)")
            #expect(fixture.stored == ["home.profile", "work.profile"])
            let forgotten = try await fixture.run("logout", "--all", "--json", "--forget")
            #expect(forgotten.status == 1 && forgotten.errors.contains("in another --store"), "\(forgotten)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `--all names a session once, even if its profile is damaged`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try Data("{".utf8).write(to: URL(fileURLWithPath: fixture.sessions + "/work.profile"))
            let result = try await fixture.run("logout", "--all", "--revoke-only", "--json").result()
            let stores = result["sessions"]?.array?.map { $0["store"]?.string }
            #expect(stores == ["file:\(fixture.sessions)/work.json"], "\(result)")
        }
    }

    @Test func `--all removes each session before it waits for a browser`() async throws {
        try await withDesk { fixture in
            for name in ["one", "two"] { try await fixture.signIn(profile: name) }
            // This browser never comes back.
            let process = try fixture.start(["logout", "--all", "--json"], ["BROWSER": "true"])
            _ = try await process.line { $0.hasPrefix("Ending the session in the browser") }
            #expect(fixture.stored == ["one.profile", "two.profile"])
            #expect(fixture.provider.count(.revocation) == 4)
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
        }
    }

    @Test func `--all ends each session in the browser, with a part of the time for each`() async throws {
        try await withDesk { fixture in
            for name in ["one", "two"] { try await fixture.signIn(profile: name) }
            fixture.provider.fault(.htmlPage, at: .endSession)
            let outcome = try await fixture.run("logout", "--all", "--json", "--timeout", "16")
            let sessions = try outcome.result()["sessions"]?.array
            #expect(sessions?.map { $0["session_ended"] } == [false, true], "\(outcome)")
            #expect(outcome.errors.contains("did not confirm"), "\(outcome)")
        }
    }

    @Test func `a profile that does not exist is wrong usage`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let named = try await fixture.run("logout", "--json", "--profile", "wrok")
            #expect(try named.wrongUsage().contains("expected work"))
            try await fixture.run("logout", "--json", with: ["SIGN_IN_PROFILE": "wrok"]).wrongUsage()
            #expect(fixture.stored == ["work.json", "work.profile"])
            // A session without the options of its sign-in is one nevertheless.
            try FileManager.default.removeItem(atPath: fixture.sessions + "/work.profile")
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "work").result()
            #expect(fixture.stored.isEmpty)
        }
    }

    /// Otherwise the tokens and secrets of each provider would go to one server (RFC 7009 §2.1).
    @Test func `--all takes no endpoint and no redirect of one provider`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let (endpoint, redirect) = (fixture.provider.url(.revocation), "http://127.0.0.1/callback")
            for options in [["--revocation-endpoint", endpoint], ["--post-logout-redirect-uri", redirect]] {
                try await fixture.start(["logout", "--all", "--json"] + options).outcome().wrongUsage()
            }
            #expect(fixture.provider.count(.revocation) == 0 && fixture.stored.count == 1)
        }
    }

    @Test func `the browser gets a one-time URL without the ID token`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let outcome = try await fixture.run("logout")
            let visit = try await fixture.browser.visit()
            let url = try #require(visit.last)
            #expect(url.hasPrefix("http://127.0.0.1:") && url.contains("/open/") && !url.contains("?"), "\(visit)")
            #expect(!outcome.errors.contains("http") && outcome.output == "Signed out.\n")
        }
    }

    /// The URL is often opened on another machine, so nothing waits for it to come back.
    @Test(arguments: [(["--no-browser"], "scripted-browser"), ([], "no-such-browser")])
    func `without a browser the URL is shown without the ID token, and the command ends`(
        options: [String], browser: String
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let arguments = ["logout", "--json", "--timeout", "20"] + options
            let outcome = try await fixture.start(arguments, ["BROWSER": browser]).outcome()
            #expect(try outcome.result()["session_ended"] == false && fixture.stored.isEmpty)
            let url = fixture.provider.url(.endSession) + "?client_id=demo"
            let lines = ["Open this URL in your browser to end the session there too:", "  \(url)"]
            #expect(outcome.errors.contains(lines.joined(separator: "\n") + "\n"), "\(outcome)")
            #expect(!outcome.errors.contains("did not send the browser back"), "\(outcome)")
            #expect(outcome.errors.contains("no-such-browser") == options.isEmpty, "\(outcome)")
        }
    }

    @Test func `--revoke-only revokes only the tokens`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let json = try await fixture.run("logout", "--revoke-only", "--json").result()
            #expect(json == ["revoked": ["refresh_token", "access_token"], "session_ended": false])
            #expect(fixture.provider.count(.endSession) == 0 && fixture.stored.isEmpty)
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test func `several access tokens are revoked, and named once`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let store = FileTokenStore(path: "\(fixture.sessions)/\(try #require(fixture.stored.first))")
            let state = try #require(await AuthState(restoring: store, environment: .live))
            _ = try await state.freshAccessToken(parameters: TokenParameters(scope: [.openID]))
            let json = try await fixture.run("logout", "--revoke-only", "--json").result()
            #expect(json == ["revoked": ["refresh_token", "access_token"], "session_ended": false])
            #expect(fixture.provider.count(.revocation) == 3)
        }
    }

    @Test func `--local removes only the stored session`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let requests = fixture.provider.log.count
            let json = try await fixture.run("logout", "--local", "--json").result()
            #expect(json == ["revoked": [], "session_ended": false])
            #expect(fixture.provider.log.count == requests && fixture.stored.isEmpty)
        }
    }

    @Test func `with nothing stored there is nothing to do`() async throws {
        try await withDesk { fixture in
            let report = try await fixture.run("logout", "--json")
            #expect(try report.result() == ["revoked": [], "session_ended": false])
            #expect(fixture.provider.log.isEmpty && fixture.browser.visits.isEmpty)
        }
    }

    @Test func `a sign-out of no session does not say that there was one, and names the profiles`() async throws {
        try await withDesk { fixture in
            #expect(try await fixture.run("logout").output == "No such session is stored.\n")
            try await fixture.signIn(profile: "work")
            let named = ["logout", "--issuer", fixture.issuer, "--client-id"]
            let other = try await fixture.start(named + ["other"]).outcome()
            #expect(other.status == 0 && other.output == "No such session is stored.\n", "\(other)")
            let same = try await fixture.start(named + ["demo"]).outcome()
            #expect(
                same.output == "No such session is stored without a profile. To sign out of the session of a profile: "
                    + "sign-in logout --profile work\n")
            let json = try await fixture.start(named + ["demo", "--json"]).outcome().result()
            #expect(json == ["revoked": [], "session_ended": false])
            #expect(fixture.stored == ["work.json", "work.profile"] && fixture.provider.count(.revocation) == 0)
        }
    }

    @Test func `--forget says what it has forgotten`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let first = try await fixture.run("logout", "--profile", "work", "--local")
            #expect(first.output == "Signed out.\n", "\(first)")
            let forgotten = try await fixture.run("logout", "--profile", "work", "--forget")
            #expect(forgotten.status == 0 && forgotten.output == "Forgot the profile work.\n", "\(forgotten)")
            #expect(fixture.stored.isEmpty)
            try await fixture.signIn(profile: "home")
            let both = try await fixture.run("logout", "--profile", "home", "--local", "--forget")
            #expect(both.output == "Signed out. Forgot the profile home.\n", "\(both)")
        }
    }

    @Test func `a session that has ended is signed out too`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            let json = try await fixture.run("logout", "--json").result()
            #expect(json == ["revoked": [], "session_ended": true])
            #expect(fixture.stored.isEmpty)
        }
    }
}
