import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// Sessions with a name of the user's choice: which one a command uses, and what it says of it.
@Suite(.timeLimit(.minutes(5)))
struct ProfileTests {
    @Test func `two users of one client have a session each, and a profile chooses one`() async throws {
        try await withTwoProfiles { fixture in
            #expect(fixture.stored == ["home.json", "home.profile", "work.json", "work.profile"])
            #expect(try await fixture.subject(["--profile", "home"]) == "bob")
            #expect(try await fixture.subject(["--profile", "work"]) == "248289761001")
            let variable = try await fixture.run("userinfo", "--json", with: ["SIGN_IN_PROFILE": "home"])
            #expect(try variable.result()["sub"]?.string == "bob")
            // The option beats the variable.
            let option = try await fixture.run(
                "userinfo", "--json", "--profile", "work", with: ["SIGN_IN_PROFILE": "home"])
            #expect(try option.result()["sub"]?.string == "248289761001")
            let message = try await fixture.run("token", "--json").wrongUsage()
            #expect(message.contains("--profile home, or --profile work"), "\(message)")
        }
    }

    @Test func `a second profile with the same session is said to be, as the browser may have chosen the user`()
        async throws
    {
        try await withTwoProfiles { fixture in
            func signedIn(_ more: [String]) async throws -> String {
                try await fixture.start(fixture.loginArguments(more).filter { $0 != "--json" }).outcome().output
            }
            let line = "For another account, sign in with: sign-in login --profile private --prompt select_account\n"
            let second = try await signedIn(["--profile", "private"])
            #expect(second.contains("The profile work is signed in as the same user. \(line)"), "\(second)")
            // Other scopes are another purpose, and a profile is no namesake of its own.
            #expect(try await !signedIn(["--profile", "mail", "--scope", "openid email"]).contains("the same user"))
            _ = try await fixture.run("logout", "--local", "--profile", "work")
            #expect(try await !signedIn(["--profile", "private"]).contains("the same user"))
        }
    }

    @Test func `the profile in use applies if the command line names no session`() async throws {
        try await withTwoProfiles { fixture in
            try await fixture.signIn()
            #expect(try await fixture.run("use", "home").output == "In use: home\n")
            #expect(try await fixture.subject([]) == "bob")
            let session = ["--issuer", fixture.issuer, "--client-id", "demo"]
            #expect(try await fixture.subject(session) == "248289761001")
            let variable = try await fixture.run("userinfo", "--json", with: ["SIGN_IN_PROFILE": "work"])
            #expect(try variable.result()["sub"]?.string == "248289761001")
            #expect(try await fixture.run("use", "--none", "--json").result() == ["profile": .null])
            let message = try await fixture.run("token", "--json").wrongUsage()
            for choice in [session.joined(separator: " "), "--profile home", "--profile work"] {
                #expect(message.contains(choice), "\(message)")
            }
            #expect(try await fixture.run("use", "other", "--json").wrongUsage().contains("home, work"))
        }
    }

    /// With 12 descriptors, a command that starts threads and timers fails: see ``FewDescriptorsTests``.
    @Test func `the stored token of a profile is printed without threads and timers`() async throws {
        try await withTwoProfiles { fixture in
            func token(_ arguments: String..., with changes: [String: String?] = [:]) async throws -> String? {
                let program = ["sh", "-c", #"ulimit -n 12; exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
                let outcome = try await fixture.start(program, ["token", "--json"] + arguments, changes).outcome()
                return try outcome.result()["access_token"]?.string
            }
            let (work, home) = (try await token("--profile", "work"), try await token("--profile", "home"))
            #expect(work != nil && home != nil && work != home)
            #expect(try await token(with: ["SIGN_IN_PROFILE": "home"]) == home)
            _ = try await fixture.run("use", "work")
            #expect(try await token() == work)
        }
    }

    @Test func `after the end of the session the error names the profile`() async throws {
        try await withTwoProfiles { fixture in
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let ended = try await fixture.run("token", "--force-refresh", "--json", "--profile", "work")
            #expect(try ended.failure(1, "sign_in_required").hasSuffix("with: sign-in login --profile work"))
        }
    }

    @Test func `help needs no profile`() async throws {
        try await withDesk { fixture in
            for arguments in [["--profile", "new", "--help"], ["--help"], ["-h"]] {
                let outcome = try await fixture.start(["login"] + arguments, ["SIGN_IN_PROFILE": "new"]).outcome()
                #expect(outcome.status == 0 && outcome.output.contains("USAGE: sign-in login"), "\(outcome)")
            }
        }
    }

    @Test func `another sign-in with a profile suggests its user, unless the line does`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            for hint in [[], ["--login-hint", "eve"], ["--param", "login_hint=mallory"]] {
                _ = try await fixture.start(["login", "--json", "--profile", "work"] + hint).outcome().result()
            }
            try await fixture.signIn()
            let hints = fixture.provider.log(.authorization).map { $0.query["login_hint"] }
            #expect(hints == [nil, "alice", "eve", "mallory", nil])
        }
    }

    @Test(arguments: [
        ["token", "--profile", "../work"], ["token", "--profile", ""], ["token", "--profile", "-x"],
        ["token", "--profile", "work", "--store", "memory"], ["use"], ["use", "work", "--none"], ["use", ".work"],
        ["login", "--profile", "work"], ["device", "--profile", "work"], ["logout", "--all", "--profile", "work"],
    ])
    func `a profile that cannot be is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in try await fixture.start(arguments + ["--json"]).outcome().wrongUsage() }
    }

    @Test func `a name that a profile cannot have is refused with the rule`() async throws {
        try await withDesk { fixture in
            let rule = "expected 1 to 32 letters, digits, '.', '_' and '-', of which the first is not '.' or '-'"
            for line in [["token", "--profile", "a b"], ["login", "--profile", "a b"], ["use", "a b"]] {
                let message = try await fixture.start(line + ["--json"]).outcome().wrongUsage()
                #expect(message.contains("'a b'") && message.hasSuffix(rule), "\(message)")
            }
            for (count, isTooLong) in [(32, false), (33, true)] {
                let name = String(repeating: "a", count: count)
                let message = try await fixture.run("use", "--json", name).wrongUsage()
                #expect(message.hasSuffix(rule) == isTooLong, "\(message)")
            }
            let variable = try await fixture.run("token", "--json", with: ["SIGN_IN_PROFILE": "a b"])
            #expect(try variable.wrongUsage() == "SIGN_IN_PROFILE: \(rule)")
            let status = try await fixture.run("status", with: ["SIGN_IN_PROFILE": "a b"])
            #expect(status.status == 0 && status.errors == "sign-in: SIGN_IN_PROFILE: \(rule)\n", "\(status)")
        }
    }

    @Test func `a sign-in names its profile, and says so if another one is in use`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "home")
            func login(_ options: [String], with changes: [String: String] = [:]) async throws -> Outcome {
                try await fixture.start(["login"] + options, changes).outcome()
            }
            let client = ["--issuer", fixture.issuer, "--client-id", "demo"]
            let own = try await login([], with: CommandFixture.bob)
            #expect(own.outputLines.first == "Signed in at \(fixture.issuer) as bob, with the profile home.")
            #expect(!own.errors.contains("is in use"), "\(own)")
            let hint = "The profile home is in use. For this session, add to other commands: "
            let store = ["--store", "file:\(fixture.home)/session"]
            for (options, named) in [(client, client), (client + store, store)] {
                let outcome = try await login(options)
                #expect(outcome.errorLines.contains(hint + named.joined(separator: " ")), "\(outcome)")
                #expect(try await fixture.subject(named) == "248289761001")
            }
            // Not the issuer, which only the resource has named: it would be agreed to when the user signs in with it.
            let resource = try await login(["--scope", "openid", "--resource", "\(fixture.issuer)/api/echo"])
            #expect(resource.errors.contains(hint + "--store file:"), "\(resource)")
            let work = try await login(["--profile", "work"])
            #expect(work.errorLines.contains(hint + "--profile work"), "\(work)")
            #expect(try await !login(client + ["--store", "memory"]).errors.contains("is in use"))
        }
    }

    @Test func `without a session of the profile in use, the error says how to use none`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "home")
            _ = try await fixture.run("logout", "--local").status
            let inUse = try await fixture.run("token", "--json").failure(1, "sign_in_required")
            #expect(inUse.contains("sign-in use --none") && inUse.hasSuffix("sign-in login --profile home"), "\(inUse)")
            for (option, variable) in [(["--profile", "home"], nil), ([], "home")] as [([String], String?)] {
                let changes = variable.map { ["SIGN_IN_PROFILE": $0] } ?? [:]
                let named = try await fixture.start(["token", "--json"] + option, changes).outcome()
                    .failure(1, "sign_in_required")
                #expect(!named.contains("--none"), "\(named)")
            }
        }
    }

    @Test func `use says that the variable takes precedence`() async throws {
        try await withTwoProfiles { fixture in
            let other = try await fixture.run("use", "home", with: ["SIGN_IN_PROFILE": "work"])
            #expect(other.output == "In use: home\n")
            #expect(other.errors == "The variable SIGN_IN_PROFILE takes precedence here: it names work.\n")
            #expect(try await fixture.run("use", "home", with: ["SIGN_IN_PROFILE": "home"]).errors.isEmpty)
            #expect(try await fixture.run("use", "--none", with: ["SIGN_IN_PROFILE": "home"]).errors.contains("home"))
        }
    }

    @Test func `without any profile, use and logout say how to create one`() async throws {
        try await withDesk { fixture in
            for line in [["use", "nope"], ["logout", "--profile", "nope"]] {
                let message = try await fixture.start(line + ["--json"]).outcome().wrongUsage()
                #expect(
                    message.hasPrefix("there is no profile in \(fixture.sessions) yet. To create 'nope', sign in with"),
                    "\(message)")
            }
        }
    }
}
