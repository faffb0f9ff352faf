import AppAuth
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// A registration that the provider has forgotten, or whose port is busy.
@Suite(.timeLimit(.minutes(5)))
struct ForgottenClientTests {
    private static let notice = "registering once more"

    private func run(_ body: (_ fixture: CommandFixture, _ url: String) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let url = fixture.provider.url(.api)
            // The next sign-ins need the port too: the socket of another test must not get it between them.
            _ = try await fixture.run("login", "--json", "--resource", url, "--redirect-port", "\(freePort())").result()
            try await body(fixture, url)
        }
    }

    /// How the provider says it.
    enum Sign: CaseIterable, Sendable {
        case page400, page401, page403, page422, token, pushed, device

        var fault: Fault {
            switch self {
            case .page400: .status(.badRequest)
            case .page401, .pushed: .status(.unauthorized)
            case .page403: .status(.forbidden)
            case .page422: .status(.init(code: 422))
            case .token, .device: .oauthError("invalid_client", .unauthorized)
            }
        }
        var endpoint: LocalProvider.Endpoint {
            switch self {
            case .token: .token
            case .pushed: .pushedAuthorization
            case .device: .deviceAuthorization
            default: .authorization
            }
        }
        var line: [String] { self == .device ? ["device"] : self == .pushed ? ["login", "--par"] : ["login"] }
    }

    @Test(arguments: Sign.allCases)
    func `a client of an earlier sign-in is registered once more`(sign: Sign) async throws {
        try await run { fixture, url in
            let former = try await clientIDs(fixture)
            fixture.provider.fault(sign.fault, at: sign.endpoint)
            let process = try fixture.start(sign.line + ["--json", "--resource", url])
            if sign == .device { try await DeviceCode(process).decide("allow") }
            let outcome = try await process.outcome()
            let session = try outcome.result()
            #expect(outcome.errors.contains(Self.notice) && former.count == 1, "\(outcome)")
            #expect(fixture.provider.count(.clientRegistration) == 2)
            // Nothing of the former client is left.
            let ids = try await clientIDs(fixture)
            #expect(ids == [session["client_id"]?.string ?? ""] && ids != former)
            let clients = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients")
            #expect(clients.filter { $0.hasSuffix(".json") }.count == 1)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            #expect(fixture.provider.count(.clientRegistration) == 2)
            // Of a client that has no file, nothing says whether it is the user's own. If only the resource has named the
            // issuer, whoever pastes a line with --issuer would agree to it.
            for id in [former[0], "my-own"] {
                let gone = ["token", "--json", "--issuer", fixture.issuer, "--client-id", id]
                let message = try await fixture.start(gone).outcome().failure(1, "sign_in_required")
                #expect(message.hasSuffix("Sign in with: sign-in login"), "\(message)")
            }
        }
    }

    @Test func `the line for a session repeats no registered client whose file has gone`() async throws {
        try await run { fixture, url in
            let store = ["--json", "--store", "file:\(fixture.home)/x.json"]
            _ = try await fixture.start(["login", "--resource", url] + store).outcome().result()
            try FileManager.default.removeItem(atPath: fixture.sessions + "/clients")
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let message = try await fixture.start(["token", "--force-refresh"] + store).outcome()
                .failure(1, "sign_in_required")
            #expect(message.contains("--resource \(url)"), "\(message)")
            #expect(!message.contains("--client-id") && !message.contains("--redirect"), "\(message)")
        }
    }

    @Test(arguments: ["unauthorized_client", "invalid_client", "access_denied"])
    func `an authorization response can say it too`(error: String) async throws {
        try await run { fixture, url in
            let process = try fixture.start(["login", "--json", "--no-browser", "--resource", url])
            let redirects = try await Redirects(process)
            try await redirects.comeBack("error=\(error)&state=\(redirects.state)&iss=\(fixture.issuer)")
            if error == "access_denied" {
                try await process.outcome().failure(1, error)
            } else {
                _ = try await process.line { $0.contains(Self.notice) }
                _ = try await process.line { $0.contains("  http") && !$0.contains(redirects.state) }
                process.send(SIGINT)
                _ = try await process.outcome()
            }
            #expect(fixture.provider.count(.clientRegistration) == (error == "access_denied" ? 1 : 2))
        }
    }

    @Test func `a session of the former client that came in the meantime stays`() async throws {
        try await run { fixture, url in
            let former = try await clientIDs(fixture)
            let process = try fixture.start(["device", "--json", "--resource", url])
            let code = try await DeviceCode(process)
            _ = try await fixture.start(["login", "--json", "--resource", url]).outcome().result()
            fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
            try await DeviceCode(process, after: code).decide("allow")
            let id = try await process.outcome().result()["client_id"]?.string
            #expect(id != former[0])
            #expect(try await Set(clientIDs(fixture)) == [former[0], id ?? ""])
        }
    }

    @Test(arguments: [true, false])
    func `if the registered port is busy, another is registered`(isUsersPort: Bool) async throws {
        try await run { fixture, url in
            let registered = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            let port = try #require(try SecureURL(registered["redirect_uris"]?.strings?.first ?? "").port)
            let busy = try LoopbackRedirectListener(ports: [port])
            defer { busy.close() }
            let options = isUsersPort ? ["--redirect-port", "\(port)"] : []
            let outcome = try await fixture.start(["login", "--json", "--resource", url] + options).outcome()
            if isUsersPort {
                try outcome.failure(1, "listener")
            } else {
                _ = try outcome.result()
                #expect(outcome.errors.contains(Self.notice))
            }
            #expect(fixture.provider.count(.clientRegistration) == (isUsersPort ? 1 : 2))
        }
    }

    @Test func `a refresh of a forgotten client names the sign-in that registers it again`() async throws {
        try await run { fixture, url in
            let former = try await clientIDs(fixture)
            fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
            let message = try await fixture.run("token", "--force-refresh", "--json").failure(1, "invalid_client")
            let command = try #require(message.components(separatedBy: "sign in with: ").last)
            fixture.provider.fault(.status(.unauthorized), at: .authorization)
            let outcome = try await fixture.start(["sh", "-c", command], []).outcome()
            #expect(outcome.status == 0 && outcome.errors.contains(Self.notice), "\(outcome)")
            let ids = try await clientIDs(fixture)
            #expect(ids.count == 1 && ids != former)
        }
    }

    @Test func `a port that is taken after its registration leads to another one`() async throws {
        try await withDesk { fixture in
            let hold = fixture.provider.hold(.clientRegistration)
            let login = ["login", "--json", "--resource", "\(fixture.issuer)/api/echo", "--scope", "openid"]
            let process = try fixture.start(login)
            try await hold.arrived()
            let requested = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            let port = try #require(try SecureURL(requested["redirect_uris"]?.strings?.first ?? "").port)
            let busy = try? LoopbackRedirectListener(ports: [port])
            defer { busy?.close() }
            hold.release()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(outcome.errors.contains("registering once more"), "\(outcome)")
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    /// The session stays, so nothing is registered here.
    @Test(arguments: [Sign.token, nil])
    func `a step-up of a forgotten client, or with its port busy, names the sign-in that registers it again`(
        sign: Sign?
    ) async throws {
        try await run { fixture, url in
            let former = try await clientIDs(fixture)
            let registered = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            let port = try #require(try SecureURL(registered["redirect_uris"]?.strings?.first ?? "").port)
            // Or another program has it.
            let busy = sign == nil ? try? LoopbackRedirectListener(ports: [port]) : nil
            defer { busy?.close() }
            let challenge = #"Bearer error="insufficient_user_authentication", max_age=60"#
            fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            if let sign { fixture.provider.fault(sign.fault, at: sign.endpoint) }
            let message = try await fixture.run("request", "GET", url, "--step-up", "--json")
                .failure(1, sign == nil ? "listener" : "invalid_client")
            #expect(!message.contains("--client-secret"), "\(message)")
            let command = try #require(message.components(separatedBy: "For another registration, sign in with: ").last)
            if sign != nil { fixture.provider.fault(.status(.unauthorized), at: .authorization) }
            let outcome = try await fixture.start(["sh", "-c", command], []).outcome()
            #expect(outcome.status == 0 && outcome.errors.contains(Self.notice), "\(message) \(outcome)")
            let ids = try await clientIDs(fixture)
            #expect(ids.count == 1 && ids != former)
        }
    }

    @Test func `a server that refuses every client ends the sign-in`() async throws {
        try await run { fixture, url in
            fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token, times: nil)
            let outcome = try await fixture.run("login", "--json", "--resource", url)
            #expect(outcome.status == 1)
            #expect(try outcome.json()["error"]?["code"] == "invalid_client")
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    @Test func `a client that the user has registered stays, and the error says how to replace it`() async throws {
        try await withDesk { fixture in
            let options = [
                "--redirect-uri", "http://127.0.0.1/it's", "--scope", "openid profile", "--client-auth", "post",
            ]
            let scope = Fault.editDocument { $0["scope"] = "openid profile" }
            fixture.provider.fault(scope, at: .clientRegistration, times: 2)
            _ = try await fixture.start(["register", "--json", "--issuer", fixture.issuer] + options).outcome().result()
            let before = try clients(fixture)
            fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
            let login = ["login", "--json", "--issuer", fixture.issuer]
            let message = try await fixture.start(login).outcome().failure(1, "invalid_client")
            #expect(try fixture.provider.count(.clientRegistration) == 1 && clients(fixture) == before)
            let file = try #require(before.first)
            #expect(message.contains("\(fixture.sessions)/clients/\(file)"))
            let command = try #require(message.components(separatedBy: "replace it with: ").last)
            let replaced = try await fixture.start(["sh", "-c", command], []).outcome()
            #expect(replaced.status == 0, "\(replaced)")
            #expect(command.contains(" --scope 'openid profile' "), "\(command)")
            #expect(try clients(fixture).count == 1 && clients(fixture) != before)
            _ = try await fixture.start(login).outcome().result()
            #expect(fixture.provider.log(.token).last?.form["client_secret"] != nil)
        }
    }

    @Test func `if the port of a client that the user has registered is busy, another one helps`() async throws {
        try await withDesk { fixture in
            let busy = try LoopbackRedirectListener()
            defer { busy.close() }
            let port = try #require(URL(string: busy.redirectURI)?.port)
            let uri = "http://127.0.0.1:\(port)/callback"
            _ = try await fixture.run("register", "--json", "--issuer", fixture.issuer, "--redirect-uri", uri).result()
            let login = ["login", "--json", "--issuer", fixture.issuer]
            let message = try await fixture.start(login).outcome().failure(1, "listener")
            #expect(message.hasSuffix("name free ones with --redirect-port") && !message.contains("rm "), "\(message)")
            _ = try await fixture.start(login + ["--redirect-port", "0"]).outcome().result()
        }
    }

    private func clientIDs(_ fixture: CommandFixture) async throws -> [String] {
        let sessions = try await fixture.run("status", "--json").result()["sessions"]?.array ?? []
        return sessions.compactMap { $0["client_id"]?.string }
    }

    private func clients(_ fixture: CommandFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients")
            .filter { $0.hasSuffix(".json") }
    }
}
