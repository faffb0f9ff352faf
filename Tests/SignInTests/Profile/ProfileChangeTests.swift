import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// What replaces or removes a profile or its session, and what does not.
@Suite(.timeLimit(.minutes(5)))
struct ProfileChangeTests {
    @Test(arguments: [[], ["--issuer", "--client-id"]])
    func `a profile's session is not replaced by another user's`(naming: [String]) async throws {
        try await withTwoProfiles { fixture in
            let options = naming.flatMap { [$0, $0 == "--issuer" ? fixture.issuer : "demo"] }
            let login = ["login", "--json", "--profile", "home"] + options
            let before = try await fixture.run("token", "--profile", "home").output
            let refused = try await fixture.start(login).outcome().failure(1, "session_replaced")
            #expect(refused.contains("248289761001") && refused.contains("not bob"), "\(refused)")
            #expect(refused.hasSuffix("sign-in logout --profile home"), "\(refused)")
            #expect(try await fixture.run("token", "--profile", "home").output == before)
            _ = try await fixture.run("logout", "--json", "--profile", "home").result()
            #expect(try await fixture.start(login).outcome().result()["id_token_claims"]?["sub"] == "248289761001")
        }
    }

    @Test func `a code for another device does not replace the session of a profile's user either`() async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "home", as: .bob)
            let process = try fixture.start(["device", "--json", "--profile", "home"])
            try await DeviceCode(process).decide("allow")
            try await process.outcome().failure(1, "session_replaced")
            #expect(try await fixture.subject(["--profile", "home"]) == "bob")
        }
    }

    @Test func `--forget removes a profile, and its session stays signed out`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "home")
            _ = try await fixture.run("logout", "--json", "--local", "--forget").result()
            #expect(fixture.stored == ["work.json", "work.profile"])
            try await fixture.run("login", "--json", "--profile", "home").wrongUsage()
            #expect(try await fixture.subject([]) == "248289761001")
        }
    }

    @Test func `--forget of another profile keeps the one in use`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "work")
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "home", "--forget").result()
            #expect(fixture.stored == ["profile-in-use", "work.json", "work.profile"])
            try await fixture.signIn()
            let sessions = try await fixture.run("status", "--json").result()["sessions"]?.array
            #expect(sessions?.map { $0["in_use"] } == [true, false])
        }
    }

    @Test func `a profile that cannot be removed is reported`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "home")
            _ = try await fixture.run("logout", "--json", "--local").result()
            chmod(fixture.sessions, 0o500)
            defer { chmod(fixture.sessions, 0o700) }
            for (command, file) in [(["use", "--none"], "profile-in-use"), (["logout", "--forget"], "home.profile")] {
                let outcome = try await fixture.startWithoutPrivileges(command + ["--json"]).outcome()
                let message = try outcome.failure(1, "store")
                #expect(message == "\(fixture.sessions)/\(file) cannot be removed: Permission denied")
            }
            #expect(fixture.stored == ["home.profile", "profile-in-use", "work.json", "work.profile"])
        }
    }

    @Test func `a sign-in that fails changes no profile`() async throws {
        try await withTwoProfiles { fixture in
            let before = try String(contentsOfFile: fixture.sessions + "/home.profile", encoding: .utf8)
            let denied = try await fixture.login(
                "--profile", "home", "--scope", "openid email", with: ["SCRIPTED_BROWSER_FORM": "action=deny"])
            try denied.failure(1, "access_denied")
            #expect(try String(contentsOfFile: fixture.sessions + "/home.profile", encoding: .utf8) == before)
        }
    }

    @Test(arguments: ["{", "[]", #"["login","--store","foo:bar"]"#])
    func `a damaged profile is named, and a complete sign-in replaces it`(contents: String) async throws {
        try await withTwoProfiles { fixture in
            let file = URL(fileURLWithPath: fixture.sessions + "/home.profile")
            try Data(contents.utf8).write(to: file)
            for command in ["token", "login", "logout"] {
                let message = try await fixture.run(command, "--json", "--profile", "home").failure(1, "store")
                #expect(message.contains("home.profile is damaged"))
                #expect(message.hasSuffix("sign-in logout --profile home --forget"), "\(message)")
            }
            try await fixture.signIn(profile: "home", as: .bob)
            #expect(try await fixture.subject(["--profile", "home"]) == "bob")
            try Data(contents.utf8).write(to: file)
            let forgotten = try await fixture.run("logout", "--profile", "home", "--forget", "--json")
            #expect(try forgotten.result()["revoked"] == ["refresh_token", "access_token"])
            #expect(fixture.stored == ["work.json", "work.profile"])
            try Data(contents.utf8).write(to: file)
            let empty = try await fixture.run("logout", "--profile", "home", "--forget", "--json")
            #expect(try empty.failure(1, "store").contains("in another --store"), "\(empty)")
            #expect(fixture.stored == ["work.json", "work.profile"])
        }
    }
}
