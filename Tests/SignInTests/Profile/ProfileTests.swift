import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// Sessions with a name of the user's choice, and the options that it stands for.
@Suite(.timeLimit(.minutes(5)))
struct ProfileTests {

    /// Runs the test after alice has signed in with the profile `work`, and bob with the profile `home`.
    private func withTwoProfiles(_ body: (CommandFixture) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "work")
            try await fixture.signIn(scope: "openid", profile: "home", as: .bob)
            try await body(fixture)
        }
    }

    private func subject(_ fixture: CommandFixture, _ arguments: [String]) async throws -> String? {
        try await fixture.start(["userinfo", "--json"] + arguments).outcome().result()["sub"]?.string
    }

    @Test func `two users of one client have a session each, and a profile chooses one`() async throws {
        try await withTwoProfiles { fixture in
            #expect(fixture.stored == ["home.json", "home.profile", "work.json", "work.profile"])
            #expect(try await subject(fixture, ["--profile", "home"]) == "bob")
            #expect(try await subject(fixture, ["--profile", "work"]) == "248289761001")
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
            #expect(try await subject(fixture, []) == "bob")
            let session = ["--issuer", fixture.issuer, "--client-id", "demo"]
            #expect(try await subject(fixture, session) == "248289761001")
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

    @Test func `a profile signs in again with the options that it remembers`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("logout", "--json", "--revoke-only", "--profile", "home").result()
            let missing = try await fixture.run("token", "--json", "--profile", "home").failure(1, "sign_in_required")
            #expect(missing.hasSuffix("Sign in with: sign-in login --profile home"), "\(missing)")
            let again = try await fixture.run("login", "--json", "--profile", "home", with: CommandFixture.bob).result()
            #expect(again["id_token_claims"]?["sub"]?.string == "bob")
            #expect(again["scope"]?.string == "openid")
            // Options beside the profile apply once.
            let wider = try await fixture.run(
                "login", "--json", "--profile", "home", "--scope", "openid email", with: CommandFixture.bob)
            #expect(try wider.result()["scope"]?.string == "openid email")
            _ = try await fixture.run("use", "home")
            #expect(
                try await fixture.run("login", "--json", with: CommandFixture.bob).result()["scope"]?.string == "openid"
            )
            #expect(fixture.stored.contains("work.json"))
        }
    }

    @Test func `after the end of the session the error names the profile`() async throws {
        try await withTwoProfiles { fixture in
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let ended = try await fixture.run("token", "--force-refresh", "--json", "--profile", "work")
            #expect(try ended.failure(1, "sign_in_required").hasSuffix("with: sign-in login --profile work"))
        }
    }

    @Test func `a profile remembers the command of its sign-in`() async throws {
        try await withDesk(.device) { fixture in
            let first = try fixture.device("--profile", "box", "--scope", "openid")
            try await DeviceCode(first).decide("allow")
            _ = try await first.outcome().result()
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "box").result()
            let message = try await fixture.run("token", "--json", "--profile", "box").failure(1, "sign_in_required")
            #expect(message.hasSuffix(": sign-in device --profile box"), "\(message)")
            let second = try fixture.start(["device", "--json", "--profile", "box"])
            try await DeviceCode(second).decide("allow")
            #expect(try await second.outcome().result()["scope"]?.string == "openid")
        }
    }

    @Test func `another command than the remembered one takes only the options that it has`() async throws {
        try await withDesk(.device) { fixture in
            _ = try await fixture.login(
                "--profile", "box", "--scope", "openid", "--max-age", "3600", "--redirect-path=/callback", "--par",
                "--login-hint", "--dpop"
            ).result()
            let device = try fixture.start(["device", "--json", "--profile", "box"])
            try await DeviceCode(device).decide("allow")
            let result = try await device.outcome().result()
            // The hint is no option.
            #expect(result["scope"]?.string == "openid" && result["token_type"]?.string == "Bearer")
            let typed = try await fixture.run("device", "--json", "--profile", "box", "--max-age", "3600")
            #expect(try typed.wrongUsage().contains("'--max-age'"))
        }
    }

    /// Otherwise the client's secret would go to the other provider (RFC 6749 §2.3.1).
    @Test(arguments: [
        "--preset", "--metadata-url", "--token-endpoint", "--authorization-endpoint", "--device-endpoint",
    ])
    func `a sign-in that names a provider takes no option of a profile`(option: String) async throws {
        try await withTwoProfiles { fixture in
            let count = fixture.provider.log.count
            let value = option == "--preset" ? "google" : fixture.provider.url(.token)
            try await fixture.run("login", "--json", "--profile", "work", option, value).wrongUsage()
            try await fixture.run("login", "--json", option, value, with: ["SIGN_IN_PROFILE": "work"]).wrongUsage()
            #expect(fixture.provider.log.count == count)
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

    @Test func `of an option given twice, the profile takes the last value, as the sign-in does`() async throws {
        try await withDesk { fixture in
            let stores = ["first", "last"].flatMap { ["--store", "file:\(fixture.home)/\($0)"] }
            let login = fixture.loginArguments(stores + ["--profile", "work"])
            _ = try await fixture.start(login).outcome().result()
            let status = try await fixture.run("status", "--json", "--profile", "work").result()
            #expect(status["sessions"]?.array?.first?["store"]?.string == "file:\(fixture.home)/last", "\(status)")
        }
    }

    @Test func `a profile remembers where its session is, and files by their absolute paths`() async throws {
        try await withDesk { fixture in
            try "s3cret: 100% äß+/= and thirty-two".write(
                toFile: fixture.home + "/secret", atomically: true, encoding: .utf8)
            let program = ["sh", "-c", #"cd "$HOME"; exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
            let options = ["--client-secret-file", "secret", "--store=file:session", "--profile", "work"]
            let login = fixture.loginArguments(options, client: "demo-confidential")
            _ = try await fixture.start(program, login).outcome().result()
            #expect(fixture.stored == ["work.profile"])
            for options in [[], ["--profile", "work"]] {
                let status = try await fixture.start(["status", "--json"] + options).outcome().result()
                let stores = status["sessions"]?.array?.map { $0["store"]?.string }
                #expect(stores == ["file:\(fixture.home)/session"])
            }
            _ = try await fixture.run("token", "--json", "--profile", "work", "--force-refresh").result()
            _ = try await fixture.run("login", "--json", "--profile", "work").result()
            let remembered = try String(contentsOfFile: fixture.sessions + "/work.profile", encoding: .utf8)
            #expect(!remembered.contains("s3cret") && !remembered.contains("--json"), "\(remembered)")
            let attributes = try FileManager.default.attributesOfItem(atPath: fixture.sessions + "/work.profile")
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
    }

    @Test func `a profile in the keyring has an entry of its own`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                _ = try await fixture.login("--store", "keyring", "--profile", "work", with: bus).result()
                _ = try await fixture.login("--store", "keyring", with: bus).result()
                #expect(fixture.stored.filter { $0.hasSuffix(".keyring") }.count == 2)
                let status = try await fixture.run("status", "--json", with: bus).result()
                let stores = status["sessions"]?.array?.compactMap { $0["store"]?.string }
                #expect(stores?.sorted().last == "keyring:sign-in/profile work", "\(status)")
                _ = try await fixture.run("token", "--json", "--profile", "work", "--force-refresh", with: bus).result()
                _ = try await fixture.run("logout", "--json", "--local", "--profile", "work", with: bus).result()
                try await fixture.run("token", "--json", "--profile", "work", with: bus).failure(1, "sign_in_required")
                _ = try await fixture.run("token", "--json", with: bus).result()
            }
        }
    }

    /// Two state folders may share a keyring, and each may have a profile with this name.
    @Test func `another folder's session in the keyring is not that of the profile here`() async throws {
        try await withDesk { fixture in
            try await fixture.withKeyring(.unlocked) { bus in
                let line =
                    ["login", "--json", "--store", "keyring", "--profile", "work", "--client-id", "demo"]
                    + ["--issuer", fixture.issuer]
                var elsewhere = bus
                elsewhere["XDG_STATE_HOME"] = fixture.home + "/elsewhere"
                _ = try await fixture.start(line, bus).outcome().result()
                _ = try await fixture.run("token", "--json", with: bus).result()
                _ = try await fixture.start(line, elsewhere).outcome().result()
                for command in ["token", "userinfo"] {
                    let refused = try await fixture.run(command, "--json", with: bus)
                    let message = try refused.failure(1, "invalid_configuration")
                    #expect(message.contains("another sign-in, not of the profile 'work'"), "\(message)")
                }
                _ = try await fixture.run("token", "--json", with: elsewhere).result()
                let forget = ["logout", "--json", "--profile", "work", "--forget", "--local"]
                _ = try await fixture.start(forget, bus).outcome().result()
                _ = try await fixture.run("token", "--json", with: elsewhere).result()
            }
        }
    }

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
            #expect(try await subject(fixture, ["--profile", "home"]) == "bob")
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

    @Test func `--forget removes a profile, and its session stays signed out`() async throws {
        try await withTwoProfiles { fixture in
            _ = try await fixture.run("use", "home")
            _ = try await fixture.run("logout", "--json", "--local", "--forget").result()
            #expect(fixture.stored == ["work.json", "work.profile"])
            try await fixture.run("login", "--json", "--profile", "home").wrongUsage()
            #expect(try await subject(fixture, []) == "248289761001")
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
                #expect(try await subject(fixture, named) == "248289761001")
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
            #expect(try await subject(fixture, ["--profile", "home"]) == "bob")
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
