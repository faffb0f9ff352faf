import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// The options of its sign-in that a profile stands for.
@Suite(.timeLimit(.minutes(5)))
struct RememberedLineTests {
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
}
