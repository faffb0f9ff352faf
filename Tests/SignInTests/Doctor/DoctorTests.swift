import AppAuth
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// `sign-in doctor`: each cause is found from one run.
@Suite(.timeLimit(.minutes(5)))
struct DoctorTests {
    @Test(arguments: healthy)
    func `a set-up without a fault has no finding`(setUp: SeededFault) async throws { try await setUp.run() }

    @Test(arguments: ofThisComputer)
    func `a fault of this computer is found by its name`(fault: SeededFault) async throws { try await fault.run() }

    @Test(arguments: ofTheWay)
    func `a fault on the way to the provider is found by its name`(fault: SeededFault) async throws {
        try await fault.run()
    }

    @Test(arguments: ofTheProvider)
    func `a fault of the provider is found by its name`(fault: SeededFault) async throws { try await fault.run() }

    @Test(arguments: ofTheClient)
    func `a fault of the client is found by its name`(fault: SeededFault) async throws { try await fault.run() }

    @Test(arguments: ofTheSession)
    func `a fault of the session is found by its name`(fault: SeededFault) async throws { try await fault.run() }

    @Test(.enabled(if: geteuid() == 0, "only root can start a server as another user"))
    func `a server of another user is found by its name`() async throws {
        let script = """
            import sys
            from http.server import *
            server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
            print(server.server_port, file=sys.stderr, flush=True)
            server.serve_forever()
            """
        let words = ["setpriv", "--reuid=1999", "--clear-groups", "python3", "-c", script]
        let server = try ChildProcess(words, environment: ["PATH": "/usr/bin:/bin"])
        let port = try await server.line { Int($0) != nil }
        try await SeededFault("server-of-another-user") { try await $0.examine("--issuer", "http://127.0.0.1:\(port)") }
            .run()
        server.send(SIGTERM)
        _ = try await server.outcome()
    }

    @Test func `the text names the finding, what was seen and what to do`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("doctor", "--issuer", fixture.issuer, "--client-id", "nobody")
            #expect(outcome.status == 1, "\(outcome)")
            let lines = [
                "ok       metadata   \(fixture.issuer)", "failure  client     nobody: client-unknown", "client-unknown",
                "  What to do: Compare --client-id with",
            ]
            for line in lines {
                #expect(outcome.outputLines.contains { $0.hasPrefix(line) }, "\(outcome)")
            }
            #expect(outcome.errorLines == ["sign-in: a sign-in will not work: client-unknown"])
            let well = try await fixture.run("doctor", "--issuer", fixture.issuer, "--client-id", "demo")
            #expect(well.status == 0 && well.errors.isEmpty, "\(well)")
            #expect(well.outputLines.last == "Everything that was checked is in order.")
        }
    }

    @Test func `a command line is not split, and a server's words begin no line`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let filler = String(repeating: "-", count: 78)
            fixture.provider.fault(
                .status(
                    .badRequest,
                    json: ["error": "invalid_grant", "error_description": .string("a \(filler) What to do: b")]),
                at: .token, grantType: "refresh_token")
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            let store = "file:\(fixture.home)/\(String(repeating: "a", count: 60)).json"
            try FileManager.default.copyItem(
                atPath: "\(fixture.sessions)/work.json", toPath: String(store.dropFirst("file:".count)))
            let lines = try await fixture.run("doctor", "--store", store).outputLines
            #expect(
                lines.contains { $0.hasPrefix("    sign-in login ") && $0.hasSuffix(" --store \(store)") }, "\(lines)")
            #expect(lines.contains("  What to do: Sign in with:"), "\(lines)")
            #expect(lines.contains { $0.hasPrefix("  | What to do: b") }, "\(lines)")
            let status = try await fixture.run("status").outputLines
            #expect(status.contains { $0.contains("| What to do: b") }, "\(status)")
            #expect(!(lines + status).contains { $0.drop { $0 == " " }.hasPrefix("What to do: b") })
        }
    }

    @Test func `it changes nothing, and shows no secret`() async throws {
        try await withDesk { fixture in
            let secret = "not the secret of this client"
            let file = fixture.home + "/secret"
            try secret.write(toFile: file, atomically: true, encoding: .utf8)
            func files() throws -> [String: Data?] {
                let names = try FileManager.default.subpathsOfDirectory(atPath: fixture.home)
                let contents = names.map { FileManager.default.contents(atPath: "\(fixture.home)/\($0)") }
                return Dictionary(uniqueKeysWithValues: zip(names, contents))
            }
            let before = try files()
            let outcome = try await fixture.start([
                "doctor", "--verbose", "--issuer", fixture.issuer, "--client-id", "demo-confidential",
                "--client-secret-file", file,
            ]).outcome()
            #expect(outcome.status == 1 && !outcome.output.contains(secret) && !outcome.errors.contains(secret))
            #expect(try files() == before)
            #expect(fixture.browser.visits.isEmpty)
            // Nothing but the authorization request, the code that no one has issued, and reads.
            let posts = fixture.provider.log.filter { $0.method == .post }
            #expect(posts.count == 1 && posts.first?.endpoint == .token, "\(posts)")
        }
    }

    @Test func `the options of a profile, and the session that is stored, are checked`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(client: "demo")
            for options in [[], ["--issuer", fixture.issuer]] {
                let result = try await fixture.start(["doctor", "--json"] + options).outcome().result()
                let checks = result["checks"]?.array?.compactMap { $0["name"]?.string } ?? []
                #expect(checks.contains("metadata") && result["findings"] == [], "\(result)")
            }
            let login = fixture.loginArguments(["--profile", "work", "--no-browser", "--redirect-path", "/other"])
            let process = try fixture.start(login)
            try await Redirects(process).signIn()
            _ = try await process.outcome().result()
            let result = try await fixture.run("doctor", "--json", "--profile", "work").result()
            let redirect = result["checks"]?.array?.first { $0["name"] == "redirect" }
            #expect(redirect?["seen"]?.string?.hasSuffix("/other") == true, "\(result)")
        }
    }

    @Test func `the port of the last sign-in may be busy`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(client: "demo")
            let uri = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            let port = try #require(URL(string: uri)?.port.map { UInt16($0) } ?? nil)
            // If another test has the port already, it is as busy.
            let listener = try? LoopbackRedirectListener(host: .ipv4, ports: [port], path: "/")
            defer { listener?.close() }
            let result = try await fixture.run("doctor", "--json").result()
            #expect(result["findings"] == [], "\(result)")
        }
    }

    @Test func `several sessions are named, and the way back to one that is over`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try await fixture.signIn(profile: "home")
            let result = try await fixture.run("doctor", "--json").result()
            let session = result["checks"]?.array?.first { $0["name"] == "session" }
            #expect(session?["seen"]?.string?.contains("--profile work") == true, "\(result)")

            fixture.provider.fault(.oauthError("invalid_grant"), at: .token, grantType: "refresh_token")
            try await fixture.run("token", "--force-refresh", "--profile", "work", "--json")
                .failure(1, "sign_in_required")
            let outcome = try await fixture.run("doctor", "--json", "--store", "file:\(fixture.sessions)/work.json")
            let finding = try outcome.json()["findings"]?.array?.first
            #expect(finding?["name"] == "session-over", "\(outcome)")
            let remedy = finding?["remedy"]?.string
            #expect(remedy?.hasPrefix("Sign in with: sign-in login") == true, "\(outcome)")
            #expect(remedy?.contains("work") == true, "\(outcome)")
        }
    }

    @Test func `a session of another device needs neither a browser nor a redirect`() async throws {
        try await withDesk(.device) { fixture in
            let process = try fixture.device()
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            let result = try await fixture.run("doctor", "--json", with: ["BROWSER": nil]).result()
            let checks = result["checks"]?.array?.compactMap { $0["name"]?.string } ?? []
            #expect(checks.contains("metadata") && !checks.contains("browser") && !checks.contains("client"))
            #expect(result["findings"] == [], "\(result)")
            #expect(fixture.provider.log(.authorization).allSatisfy { $0.method == .head })
        }
    }

    @Test func `the secret of a session goes to no other endpoint`() async throws {
        try await withDesk { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            let file = fixture.home + "/secret"
            try secret.write(toFile: file, atomically: true, encoding: .utf8)
            let login = fixture.loginArguments(["--client-secret-file", file], client: "demo-confidential")
            _ = try await fixture.start(login).outcome().result()
            let named = ["doctor", "--json", "--issuer", fixture.issuer, "--client-id", "demo-confidential"]
            let page = ["--authorization-endpoint", fixture.provider.url(.authorization)]
            for (options, isSent) in [
                ([], true), (page + ["--token-endpoint", fixture.issuer + "/other"], false),
                // This document names no other endpoint, but could.
                (["--metadata-url", fixture.provider.url(.oauthMetadata)], false),
            ] {
                _ = try await fixture.start(named + options).outcome()
                let request = fixture.provider.log.last { $0.method == .post }
                #expect((request?.headers[.authorization] != nil) == isSent, "\(String(describing: request))")
            }
        }
    }

    @Test func `without a provider, this computer is checked`() async throws {
        try await withDesk { fixture in
            let result = try await fixture.run("doctor", "--json").result()
            let checks = result["checks"]?.array?.compactMap { $0["name"]?.string } ?? []
            #expect(checks == ["libraries", "options", "session", "store", "browser", "redirect"], "\(result)")
            #expect(fixture.provider.log.isEmpty)
        }
    }
}

extension DoctorTests {
    private static let secret = "s3cret: 100% äß+/= and thirty-two"

    static let healthy: [SeededFault] = [
        .init { try await $0.examine() },
        .init { setUp in
            let file = try setUp.file("secret", secret)
            for method in ["basic", "post", "client_secret_jwt"] {
                try await setUp.examine(
                    "--client-id", "demo-confidential", "--client-secret-file", file, "--client-auth", method)
            }
        },
        .init { try await $0.examine("--dpop") },
        .init(provider: { $0.requiresPushedRequests = true }) { try await $0.examine() },
        .init(isSecure: true) { try await $0.examine("--ca-file", $0.certificate ?? "") },
        .init { setUp in
            try await setUp.fixture.withKeyring(.unlocked) { try await setUp.examine("--store", "keyring", in: $0) }
        },
    ]

    static let ofThisComputer: [SeededFault] = [
        .init("library-missing") { setUp in
            let folder = try setUp.file("libcurl.so.4", "no library")
            try await setUp.examine(in: ["LD_LIBRARY_PATH": (folder as NSString).deletingLastPathComponent])
        },
        .init("store-unusable") {
            try await $0.examine("--store", "file:\($0.file("folder", "no folder"))/session.json")
        },
        .init("store-damaged") { try await $0.examine("--store", "file:" + $0.file("session.json", "no session")) },
        .init("passphrase-missing") { try await $0.examine("--store", "encrypted:\($0.fixture.home)/session") },
        .init("keyring-absent") { try await $0.examine("--store", "keyring") },
        .init("keyring-locked") { setUp in
            try await setUp.fixture.withKeyring(.locked(isAnswered: false)) {
                try await setUp.examine("--store", "keyring", in: $0)
            }
        },
        .init("browser-missing", isHarmless: true) { try await $0.examine(in: ["BROWSER": "no-such-browser"]) },
        .init("browser-missing", isHarmless: true) { try await $0.examine(in: ["BROWSER": "w3m"]) },
        .init("browser-missing", isHarmless: true) { try await $0.examine(in: ["BROWSER": nil]) },
        .init("browser-obstacle", isHarmless: true) {
            try await $0.examine(in: ["SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"])
        },
        .init("other-users-can-connect", isHarmless: true) { try await $0.examine(in: ["WSL_DISTRO_NAME": "Debian"]) },
        .init("port-busy") { setUp in
            let listener = try LoopbackRedirectListener()
            defer { listener.close() }
            let port = try #require(SecureURL(listener.redirectURI).port)
            try await setUp.examine("--redirect-port", String(port))
        },
        .init("loopback-blocked", "server-unreachable") { setUp in
            let prefix = ["unshare"] + (geteuid() == 0 ? [] : ["--map-root-user"]) + ["--net"]
            guard try await Namespace.isPossible(prefix) else { return }
            try await setUp.examine(through: prefix)
        },
        .init("clock-off", isHarmless: true, provider: { $0.clock = { Date() + 600 } }) { try await $0.examine() },
        .init("clock-off", provider: { $0.clock = { Date() - 2 * 86_400 } }) { try await $0.examine() },
    ]

    static let ofTheWay: [SeededFault] = [
        .init("name-unresolved") { try await $0.examine("--issuer", "https://nowhere.invalid") },
        .init("server-unreachable") { try await $0.examine("--issuer", "http://127.0.0.1:1") },
        .init("proxy-unusable") {
            try await $0.examine("--issuer", "https://server.example", in: ["https_proxy": "http://127.0.0.1:1"])
        },
        .init("proxy-refuses-user") { setUp in
            let proxy = try SimpleServer { _ in
                SimpleResponse(
                    status: "407 Proxy Authentication Required",
                    headers: [("Proxy-Authenticate", #"Digest realm="proxy", nonce="abc", qop="auth""#)])
            }
            defer { proxy.stop() }
            let variables = ["https_proxy": "http://zoe:looking-glass@\(proxy.host)"]
            try await setUp.examine("--issuer", "https://server.example", in: variables)
        },
        .init("ca-missing", isSecure: true) { try await $0.examine() },
        .init("ca-file-unusable") { try await $0.examine(in: ["SSL_CERT_FILE": "/none"]) },
        .init("certificate-date", isExpired: true) { try await $0.examine("--ca-file", $0.certificate ?? "") },
        .init("certificate-host", isSecure: true) {
            let issuer = $0.fixture.issuer.replacing("127.0.0.1", with: "other.localhost")
            try await $0.examine("--issuer", issuer, "--ca-file", $0.certificate ?? "")
        },
        .init("tls-unusable") {
            try await $0.examine("--issuer", $0.fixture.issuer.replacing("http:", with: "https:"))
        },
    ]

    static let ofTheProvider: [SeededFault] = [
        .init("issuer-invalid") { try await $0.examine("--issuer", "http://server.example") },
        .init("issuer-mismatch") { try await $0.examine("--issuer", $0.fixture.issuer + "/") },
        .init("metadata-missing") { try await $0.examine("--issuer", $0.fixture.issuer + "/nowhere") },
        .init("metadata-missing") { setUp in
            for endpoint in [LocalProvider.Endpoint.openIDConfiguration, .oauthMetadata] {
                setUp.fixture.provider.fault(.htmlPage, at: endpoint, times: nil)
            }
            try await setUp.examine()
        },
        .init("metadata-invalid") {
            $0.edit { $0["jwks_uri"] = 7 }
            try await $0.examine()
        },
        .init("endpoint-missing") {
            $0.edit { $0["token_endpoint"] = nil }
            try await $0.examine()
        },
        .init("endpoint-failing") {
            $0.fixture.provider.fault(.unavailable(retryAfter: 5), at: .token, times: nil)
            try await $0.examine()
        },
        .init("keys-unusable") {
            $0.fixture.provider.fault(.htmlPage, at: .keys, times: nil)
            try await $0.examine()
        },
        .init("keys-unusable") {
            $0.fixture.provider.fault(.editDocument { $0["keys"] = [] }, at: .keys, times: nil)
            try await $0.examine()
        },
        .init("pkce-unsupported") {
            $0.edit { $0["code_challenge_methods_supported"] = ["plain"] }
            try await $0.examine()
        },
    ]

    static let ofTheClient: [SeededFault] = [
        .init("client-unknown") { try await $0.examine("--client-id", "nobody") },
        .init("client-unknown") {
            let page = "\($0.fixture.issuer)/oauth/error?authError=Cg"
            $0.fixture.provider.fault(.status(.found, [.location: page]), at: .authorization)
            try await $0.examine("--client-id", "nobody")
        },
        .init("client-secret-missing") { try await $0.examine("--client-id", "demo-confidential") },
        .init("client-secret-wrong") { setUp in
            let file = try setUp.file("secret", "not the secret")
            try await setUp.examine("--client-id", "demo-confidential", "--client-secret-file", file)
        },
        .init("request-refused", provider: { $0.requiresPushedRequests = true }) {
            $0.fixture.provider.fault(.oauthError("invalid_request"), at: .pushedAuthorization, times: nil)
            try await $0.examine()
        },
        .init("client-configuration") { try await $0.examine("--client-secret-file", "/none") },
        .init(
            "client-not-allowed",
            provider: {
                $0.clients.append(.init(id: "job", redirectURIs: [.anyLoopback], grantTypes: ["refresh_token"]))
            }
        ) { try await $0.examine("--client-id", "job") },
        .init(
            "redirect-uri-unregistered",
            provider: { $0.clients.append(.init(id: "strict", redirectURIs: ["http://127.0.0.1/other"])) }
        ) { try await $0.examine("--client-id", "strict") },
        .init("scope-unlisted", "no-refresh-token", "scope-refused") { try await $0.examine("--scope", "unheard-of") },
        .init("scope-unlisted", isHarmless: true) {
            try await $0.examine("--scope", "openid offline_access unheard-of")
        },
        .init("no-refresh-token", isHarmless: true) { try await $0.examine("--scope", "openid") },
        .init("no-refresh-token", isHarmless: true) {
            $0.edit { $0["grant_types_supported"] = ["authorization_code"] }
            try await $0.examine()
        },
        .init("dpop-unlisted", isHarmless: true) {
            $0.edit { $0["dpop_signing_alg_values_supported"] = nil }
            try await $0.examine("--dpop")
        },
    ]

    static let ofTheSession: [SeededFault] = [
        .init("no-refresh-token", isHarmless: true) {
            try await $0.fixture.signIn(scope: "openid")
            try await $0.examine()
        },
        .init("scope-not-granted", isHarmless: true) {
            try await $0.fixture.signIn(scope: "openid offline_access unheard-of")
            try await $0.examine()
        },
        .init("session-over") {
            try await $0.fixture.signIn()
            $0.fixture.provider.fault(.oauthError("invalid_grant"), at: .token, grantType: "refresh_token")
            try await $0.fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            try await $0.examine()
        },
        .init("refresh-failing", isHarmless: true) {
            try await $0.fixture.signIn()
            $0.fixture.provider.fault(.status(.internalServerError), at: .token, grantType: "refresh_token")
            try await $0.fixture.run("token", "--force-refresh", "--json").failure(1, "invalid_response")
            try await $0.examine()
        },
    ]
}
