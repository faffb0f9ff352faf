import AppAuth
import AppAuthTestProvider
import ScriptedBrowser
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// What the user does with other sessions while a command waits for a server or the browser. The command goes on with the
/// session that it began with, and replaces no other one.
@Suite(.timeLimit(.minutes(5)))
struct SessionChangesTests {
    private static let other = "https://other.example/api"
    private static let withBob = LocalProvider.Configuration.device {
        $0.users = [.alice, LocalProvider.User(name: "bob", password: "builder")]
        $0.resources = [other]
    }
    private static let protected = LocalProvider.Configuration.device {
        $0.users = [.alice, LocalProvider.User(name: "bob", password: "builder")]
        $0.resourceDescription = ResourceDescription(scopes: ["api"])
        $0.resources = [other]
    }

    private static func entries(_ name: String) -> [String: String] {
        ["username": name, "password": name == "bob" ? "builder" : "looking-glass"]
    }

    /// Starts a sign-in whose page waits, and signs in there after what happens meanwhile.
    private func login(
        _ fixture: CommandFixture, as name: String, _ options: [String], meanwhile: () async throws -> Void
    ) async throws -> Outcome {
        let process = try fixture.start(["login", "--json", "--no-browser"] + options)
        let url = try await process.line { $0.contains("/authorize?") }.trimmingCharacters(in: .whitespaces)
        try await meanwhile()
        _ = try? await ScriptedBrowser(
            transport: CurlTransport(.init(proxy: .none)), entries: Self.entries(name)
        ).visit(url)
        return try await process.outcome()
    }

    /// Starts a request whose response comes after what happens meanwhile, and demands another sign-in.
    private func stepUp(_ fixture: CommandFixture, meanwhile: () async throws -> Void) async throws -> Outcome {
        let api = fixture.provider.url(.api)
        let challenge = #"Bearer error="insufficient_scope", scope="email""#
        fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api)
        let hold = fixture.provider.hold(.api)
        let process = try fixture.start(["request", "GET", api, "--step-up-at", api, "--json"])
        try await hold.arrived()
        try await meanwhile()
        hold.release()
        return try await process.outcome()
    }

    private func user(_ fixture: CommandFixture, _ profile: String) async throws -> String? {
        // Its status is 1 if the session is not there.
        let outcome = try await fixture.run("status", "--json", "--profile", profile)
        return try outcome.json()["sessions"]?.array?.first?["user"]?.string
    }

    @Test func `a step-up signs in to the session of the request, whatever profile is in use by then`() async throws {
        try await withDesk(Self.withBob) { fixture in
            _ = try await fixture.login("--profile", "one").result()
            _ = try await fixture.login("--profile", "two", with: CommandFixture.bob).result()
            _ = try await fixture.run("use", "one")
            let outcome = try await stepUp(fixture) { _ = try await fixture.run("use", "two") }
            #expect(try outcome.result()["status"] == 200, "\(outcome)")
            #expect(try await user(fixture, "one") == "alice")
            #expect(try await user(fixture, "two") == "bob")
        }
    }

    /// The user signs out, or signs in as somebody else.
    @Test(arguments: [false, true])
    func `a step-up replaces no session but that of the request`(signsIn: Bool) async throws {
        try await withDesk(Self.withBob) { fixture in
            _ = try await fixture.login("--profile", "one").result()
            _ = try await fixture.run("use", "one")
            let outcome = try await stepUp(fixture) {
                _ = try await fixture.run("logout", "--local", "--profile", "one")
                guard signsIn else { return }
                _ = try await fixture.login("--profile", "one", with: CommandFixture.bob).result()
            }
            try outcome.failure(1, "session_replaced")
            #expect(try await user(fixture, "one") == (signsIn ? "bob" : nil))
        }
    }

    @Test func `two sign-ins of one profile do not replace each other's user`() async throws {
        try await withDesk(Self.withBob) { fixture in
            let options = ["--issuer", fixture.issuer, "--client-id", "demo", "--profile", "one"]
            let outcome = try await login(fixture, as: "alice", options) {
                _ = try await fixture.login("--profile", "one", with: CommandFixture.bob).result()
            }
            try outcome.failure(1, "session_replaced")
            #expect(try await user(fixture, "one") == "bob")
            // The same user may.
            let again = try await login(fixture, as: "bob", options) {
                _ = try await fixture.login("--profile", "one", with: CommandFixture.bob).result()
            }
            _ = try again.result()
        }
    }

    @Test(arguments: ["login", "device"], [true, false])
    func `a server that takes its time before the sign-in gets no place that is another session's by then`(
        command: String, hasProfile: Bool
    ) async throws {
        try await withDesk(Self.protected) { fixture in
            let place = hasProfile ? ["--profile", "one"] : ["--store", "file:\(fixture.home)/one.json"]
            let hold = fixture.provider.hold(.clientRegistration)
            let process = try fixture.start([command, "--json", "--resource", fixture.provider.url(.api)] + place)
            try await hold.arrived()
            let meanwhile = fixture.loginArguments(place)
            _ = try await fixture.start(meanwhile, CommandFixture.bob).outcome().result()
            hold.release()
            if command == "device" { try await DeviceCode(process).decide("allow") }
            try await process.outcome().failure(1, "session_replaced")
            let status = try await fixture.start(["status", "--json"] + place).outcome().result()
            #expect(status["sessions"]?.array?.first?["user"] == "bob", "\(status)")
        }
    }

    @Test func `nor one that takes its time with the claims of the user`() async throws {
        try await withDesk(Self.withBob) { fixture in
            let hold = fixture.provider.hold(.userInfo)
            let elsewhere = ["--profile", "one", "--store", "file:\(fixture.home)/one.json", "--userinfo"]
            let process = try fixture.start(fixture.loginArguments(elsewhere))
            try await hold.arrived()
            _ = try await fixture.login("--profile", "one", with: CommandFixture.bob).result()
            hold.release()
            try await process.outcome().failure(1, "session_replaced")
            #expect(try await user(fixture, "one") == "bob")
        }
    }

    /// The same options are another profile's too, if the name was forgotten in between.
    @Test(arguments: ["https://op.example", nil])
    func `a session whose profile was forgotten meanwhile is signed in to without that name`(
        issuer: String?
    ) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "one").result()
            let session = try #require(try fixture.record(besides: "").refreshToken)
            fixture.provider.revokeGrant(of: session.reveal())
            let hold = fixture.provider.hold(.token)
            let process = try fixture.start(["token", "--profile", "one", "--force-refresh", "--json"])
            try await hold.arrived()
            let line = ["login", "--issuer", issuer ?? fixture.issuer, "--client-id", "demo"]
            let another: JSON = ["id": "another", "sign_in": .array(line.map(JSON.string))]
            try another.serialized().write(
                toFile: fixture.sessions + "/one.profile", atomically: true, encoding: .utf8)
            hold.release()
            let advice = try await process.outcome().failure(1, "sign_in_required").advised(by: "Sign in with: ")
            #expect(try #require(advice).contains("--issuer \(fixture.issuer)"), "\(advice ?? "")")
            #expect(advice?.contains("one") == false)
        }
    }

    @Test(arguments: ["login", "device"])
    func `a sign-in for a resource does not replace the session for another one`(command: String) async throws {
        try await withDesk(Self.protected) { fixture in
            func signInForOther() async throws { _ = try await fixture.login("--resource", Self.other).result() }
            let resource = [
                "--resource", fixture.provider.url(.api), "--issuer", fixture.issuer, "--client-id", "demo",
            ]
            let outcome: Outcome
            if command == "device" {
                let process = try fixture.start(["device", "--json"] + resource)
                let code = try await DeviceCode(process)
                try await signInForOther()
                try await code.decide("allow")
                outcome = try await process.outcome()
            } else {
                outcome = try await login(fixture, as: "alice", resource, meanwhile: signInForOther)
            }
            try outcome.failure(1, "session_replaced")
            #expect(try fixture.record(besides: "").resources == [Self.other])
        }
    }

    @Test func `an ended session without a profile is not that of the profile in use`() async throws {
        try await withDesk(Self.withBob) { fixture in
            _ = try await fixture.login().result()
            _ = try await fixture.login("--profile", "two", with: CommandFixture.bob).result()
            _ = try await fixture.run("use", "two")
            let session = try #require(try fixture.record(besides: "two.json").refreshToken)
            fixture.provider.revokeGrant(of: session.reveal())
            let line = ["token", "--issuer", fixture.issuer, "--client-id", "demo", "--force-refresh"]
            _ = try await fixture.start(line).outcome()
            let status = try await fixture.run("status")
            let advice = "sign-in login --issuer \(fixture.issuer) --client-id demo"
            #expect(status.outputLines.contains { $0.hasPrefix("      \(advice)") }, "\(status)")
            #expect(!status.output.contains("--profile two"), "\(status)")
        }
    }

    @Test func `the error of a command names the profile that it began with`() async throws {
        try await withDesk(Self.withBob) { fixture in
            _ = try await fixture.login("--profile", "one").result()
            _ = try await fixture.login("--profile", "two", with: CommandFixture.bob).result()
            _ = try await fixture.run("use", "one")
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let hold = fixture.provider.hold(.token)
            let process = try fixture.start(["token", "--force-refresh", "--json"])
            try await hold.arrived()
            _ = try await fixture.run("use", "two")
            hold.release()
            #expect(
                try await process.outcome().failure(1, "sign_in_required").hasSuffix("sign-in login --profile one"))
        }
    }

    @Test func `logout does not forget a profile to which the user has signed in again`() async throws {
        try await withDesk(Self.withBob) { fixture in
            _ = try await fixture.login("--profile", "one").result()
            let hold = fixture.provider.hold(.revocation)
            let process = try fixture.start(["logout", "--profile", "one", "--forget", "--revoke-only"])
            try await hold.arrived()
            _ = try await fixture.login("--profile", "one").result()
            hold.release()
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 && !outcome.output.contains("Forgot"), "\(outcome)")
            #expect(try await user(fixture, "one") == "alice")
            #expect(try await fixture.run("accounts").output.contains("one"))
        }
    }

    @Test func `the session of a client that is registered once more with the same ID stays`() async throws {
        try await withDesk(Self.protected) { fixture in
            fixture.provider.fault(.editDocument { $0["client_id"] = "demo" }, at: .clientRegistration, times: nil)
            let line = [
                "login", "--json", "--resource", fixture.provider.url(.api), "--redirect-port", "\(freePort())",
            ]
            _ = try await fixture.start(line).outcome().result()
            fixture.provider.fault(.status(.badRequest), at: .authorization)
            let outcome = try await fixture.start(line).outcome()
            _ = try outcome.result()
            #expect(outcome.errors.contains("registering once more"), "\(outcome)")
            _ = try await fixture.run("token", "--json").result()
            let clients = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients")
            #expect(clients.filter { $0.hasSuffix(".json") }.count == 1)
        }
    }
}

extension CommandFixture {
    /// The session that is in another file than this one.
    fileprivate func record(besides name: String) throws -> AuthStateRecord {
        let found = try #require(stored.first { $0.hasSuffix(".json") && $0 != name })
        let path = "\(sessions)/\(found)"
        return try AuthStateRecord(decoding: Array(Data(contentsOf: URL(fileURLWithPath: path))), from: path)
    }
}
