import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import SevenPass
import TestFixtures
import Testing

/// The built program `seven-pass`, as a user runs it.
@Suite(.timeLimit(.minutes(2))) struct SampleTests {
    @Test(arguments: [
        [], ["--demo", "--headless"], ["--facebook"], ["--facebook", "--param", "fbapp_pres=1"],
        ["--redirect-uri", "oauthtest://oauth-callback"],
        ["--client-id", "56a0982fcd8fb606d000b233", "--redirect-uri", "oauthtest://oauth-callback"],
        ["--client-id", "56a0982fcd8fb606d000b233"],
        ["--redirect-uri", "de.7pass.example:/cb/authz", "--facebook", "--headless"],
    ])
    func `the tour goes through at the double, which ends with it`(options: [String]) async throws {
        try await withSampleHome { home in
            let outcome = try await home.start(options, ["BROWSER": ""]).outcome()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            let expected =
                ["The simulated server", "A scripted browser signs in"]
                + (options.contains("--facebook") ? ["Facebook has responded"] : [])
                + [
                    "Signed in as Alice Liddell", "The ID token says", "sub: 7p-248289761001", "The accounts API says",
                    "email: alice@example.com", "Added sms", "newsletter: accepted",
                    "sms: accepted", "Removed sms", "Refreshed", "seconds left", "refresh_token was revoked",
                    "access_token was revoked",
                    "session has ended", "Signed out",
                ]
            var rest = outcome.outputLines[...]
            for words in expected {
                let found = try #require(rest.firstIndex { $0.contains(words) }, "\(words) in \(outcome)")
                rest = rest[found...].dropFirst()
            }
            try expect(outcome.output, toHaveRequested: options)
            let url = try #require(outcome.output.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/)).0
            let error = await #expect(throws: AuthError.self) {
                try await Discovery(environment: .live).metadata(for: Issuer(String(url)))
            }
            #expect(error?.outcome == .notSent)
        }
    }

    @Test func `without a display, the browser of the user's choice opens`() async throws {
        try await withSampleHome { home in
            let (command, addresses) = try await home.browserCommand()
            let start = try home.start([], ["BROWSER": command])
            let address = try #require(await addresses.first { _ in true })
            #expect(address.hasPrefix("http://127.0.0.1:"))
            start.terminate()
            let outcome = await start.outcome()
            #expect(outcome.output.contains("Sign in as alice@example.com, with the password"), "\(outcome)")
            #expect(!outcome.output.contains("scripted"), "\(outcome)")
        }
    }

    /// The printed address of the sign-in has the client ID and the redirect URI of the options.
    private func expect(_ output: String, toHaveRequested options: [String]) throws {
        let printed = try #require(output.firstMatch(of: /If none opens: (\S+)/)?.1)
        let query = try #require(URLComponents(string: String(printed))?.queryItems)
        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
        func option(_ name: String) -> String? { options.firstIndex(of: name).map { options[$0 + 1] } }
        #expect(value("client_id") == option("--client-id") ?? "seven-pass-app")
        let redirect = try #require(value("redirect_uri"))
        #expect(option("--redirect-uri").map { redirect == $0 } ?? redirect.hasPrefix("http://127.0.0.1:"))
    }

    @Test func `Samples run goes through the tour with the programs that it has built`() async throws {
        try await withSampleHome { home in
            // Builds nothing, because the tests did: it has the folder of their programs. It fails for another package, for
            // a product without a program, and for anything else that it is asked.
            let script = """
                #!/bin/sh
                programs=$(dirname '\(home.program)')
                case "$*" in
                --version) echo 'Swift version 6.2' ;;
                "build --package-path $3 --show-bin-path") echo "$programs" ;;
                "build --package-path $3 --product $5")
                    grep -qF "\"$5\"" "$3/Package.swift" && test -x "$programs/$5" ;;
                *) exit 64 ;;
                esac
                """
            try await ProgramFile.write(script, to: home.path + "/swift")
            let run = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Samples/run").path
            let outcome = try await home.start(
                ["--headless"], ["PATH": "\(home.path):/usr/bin:/bin"], program: run
            ).outcome()
            #expect(outcome.status == 0 && outcome.outputLines.last == "Signed out.", "\(outcome)")
            #expect(outcome.output.contains("Signed in as Alice Liddell"), "\(outcome)")
        }
    }

    @Test func `at a real server each step is a start, and the session lasts`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let server = home.server(fixture)
                let signedIn = try await home.start(["sign-in"] + server).outcome()
                #expect(signedIn.status == 0 && signedIn.output.contains("Signed in as Alice Liddell"), "\(signedIn)")
                let me = try await home.start(["me"] + server).outcome()
                #expect(me.status == 0 && me.output.contains("sub: 7p-248289761001"), "\(me)")
                let added = try await home.start(["add-optin", "optins"] + server).outcome()
                #expect(added.outputLines.last == "  sms: accepted", "\(added)")
                try await home.start(["add-optin"] + server).outcome().fails(1, "optin_exists")
                let removed = try await home.start(["remove-optin", "optins", "--type", "sms"] + server).outcome()
                #expect(removed.status == 0 && !removed.output.contains("sms:"), "\(removed)")
                #expect(fixture.double.count(.authorization) == 1)
                let out = try await home.start(["logout"] + server).outcome()
                #expect(out.status == 0 && out.output.contains("session has ended"), "\(out)")
                #expect(fixture.double.count(.revocation) == 2 && fixture.double.count(.endSession) > 0)
                #expect(!FileManager.default.fileExists(atPath: home.session))
                let again = try await home.start(["logout"] + server).outcome()
                #expect(again.outputLines == ["No user is signed in."], "\(again)")
            }
        }
    }

    @Test func `seven-pass sign-in sends the parameters of --param, and has a loopback redirect`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let campaign = ["--param", "utm_campaign=a23_45"]
                let outcome = try await home.start(["sign-in"] + campaign + home.server(fixture)).outcome()
                #expect(outcome.outputLines.last == "Signed in as Alice Liddell.", "\(outcome)")
                let query = try #require(fixture.double.log(.authorization).first?.query)
                #expect(query["utm_campaign"] == "a23_45")
                let redirect = try #require(query["redirect_uri"])
                #expect(redirect.wholeMatch(of: /http:\/\/127\.0\.0\.1:\d+\/callback/) != nil, "\(redirect)")
                #expect(fixture.double.log(.token).map { $0.form["redirect_uri"] } == [redirect])
            }
        }
    }

    @Test func `seven-pass claims has the user's id, name and email from the ID token`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let outcome = try await home.start(["sign-in", "claims"] + home.server(fixture)).outcome()
                for claim in ["sub: 7p-248289761001", "email: alice@example.com", "name: Alice Liddell"] {
                    #expect(outcome.outputLines.contains("  " + claim), "\(outcome)")
                }
                // Only of the ID token.
                #expect(fixture.double.count(.me) == 0 && fixture.double.count(.userInfo) == 0)
            }
        }
    }

    @Test func `seven-pass logout revokes each token with its hint and the client id, then ends the session`()
        async throws
    {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let browser = ScriptedBrowser(
                    transport: fixture.environment.transport, entries: SevenPassFixture.alice)
                let (command, addresses) = try await home.browserCommand()
                /// Starts it, and opens the address that it gives to the browser.
                func run(_ action: String) async throws -> SampleHome.Outcome {
                    let start = try home.start([action] + home.server(fixture), ["BROWSER": command])
                    try await browser.visit(#require(await addresses.first { _ in true }))
                    return await start.outcome()
                }
                let signedIn = try await run("sign-in")
                #expect(signedIn.status == 0, "\(signedIn)")
                let record = try #require(try await FileTokenStore(path: home.session).load())
                // The response of the issuer to this browser if it may not ask its user.
                let redirect = try #require(fixture.double.log(.authorization).first?.query["redirect_uri"])
                let asked = try #require(signedIn.output.firstMatch(of: /If none opens: (\S+)/)?.1)
                let silent = String(asked).replacing("prompt=consent", with: "prompt=none")
                #expect(try await browser.address(from: silent, upTo: redirect).contains("?code="))
                let out = try await run("logout")
                #expect(out.status == 0 && out.outputLines.last == "Signed out.", "\(out)")
                #expect(try await browser.address(from: silent, upTo: redirect).contains("?error=login_required"))
                let revocations = fixture.double.log(.revocation)
                let tokens = [record.refreshToken?.reveal(), record.accessToken?.value.reveal()]
                #expect(revocations.map { $0.form["token"] } == tokens && !tokens.contains(nil))
                #expect(revocations.map { $0.form["token_type_hint"] } == ["refresh_token", "access_token"])
                #expect(revocations.map { $0.form["client_id"] } == ["seven-pass-app", "seven-pass-app"])
                #expect(revocations.map(\.status) == [200, 200])
                let end = try #require(fixture.double.log(.endSession).first?.query)
                #expect(try end["id_token_hint"] == #require(record.idToken).rawValue.reveal())
                #expect(end["post_logout_redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
                let order = fixture.double.log.map(\.endpoint).filter { [.revocation, .endSession].contains($0) }
                #expect(order.prefix(3) == [.revocation, .revocation, .endSession])
                #expect(!FileManager.default.fileExists(atPath: home.session))
            }
        }
    }

    @Test func `scope, store, claims and refresh are the user's to choose`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let server = home.server(fixture) + ["--store", "file:\(home.path)/tokens.json"]
                let scope = ["--scope", "openid email"]
                let signedIn = try await home.start(["sign-in", "claims"] + scope + server).outcome()
                #expect(signedIn.status == 0 && signedIn.output.contains("  email: alice@example.com"), "\(signedIn)")
                #expect(!signedIn.output.contains("given_name"), "\(signedIn)")
                #expect(fixture.double.log(.authorization).first?.query["scope"] == "openid email")
                #expect(FileManager.default.fileExists(atPath: home.path + "/tokens.json"))
                #expect(!FileManager.default.fileExists(atPath: home.session))
                // Without offline_access there is nothing to refresh with.
                try await home.start(["refresh"] + server).outcome().fails(1, "Sign in again")
                try FileManager.default.removeItem(atPath: home.path + "/tokens.json")
                let refreshed = try await home.start(["sign-in", "refresh"] + server).outcome()
                #expect(refreshed.status == 0 && refreshed.output.contains("Refreshed"), "\(refreshed)")
                #expect(fixture.double.log(.token).last?.form["grant_type"] == "refresh_token")
            }
        }
    }

    @Test func `a sign-out that does not come back ends at its limit`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                fixture.double.fault(.status(.badRequest), at: .endSession)
                let server = home.server(fixture) + ["--logout-timeout", "3"]
                let outcome = try await home.start(["sign-in", "logout"] + server).outcome()
                #expect(outcome.status == 0 && outcome.output.contains("seconds left"), "\(outcome)")
                #expect(outcome.output.contains("session may last"), "\(outcome)")
            }
        }
    }

    @Test func `the wait for the browser at a sign-out is counted down`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                fixture.double.fault(.status(.badRequest), at: .endSession)
                let server = home.server(fixture) + ["--logout-timeout", "13"]
                let outcome = try await home.start(["sign-in", "logout"] + server).outcome()
                let left = outcome.output.matches(of: /Waiting for the browser: (\d+) seconds left\./).map {
                    Int($0.1) ?? 0
                }
                // A line every ten seconds, of the whole limit.
                #expect(left.count == 2 && (11...13).contains(left[0]) && left[0] - left[1] >= 10, "\(outcome)")
                #expect(outcome.output.contains("session may last"), "\(outcome)")
            }
        }
    }

    @Test func `with --store keyring the session lasts in the keyring, and a sign-out removes it`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let server = home.server(fixture) + ["--store", "keyring"]
                let starts = ["sign-in", "me", "logout", "logout"].map { [home.program, $0] + server }
                let isNotInFile = ["test", "!", "-e", home.session]
                let outcome = try await home.startWithKeyring([starts[0], isNotInFile] + starts[1...]).outcome()
                #expect(outcome.status == 0 && outcome.output.contains("email: alice@example.com"), "\(outcome)")
                #expect(outcome.output.contains("Signed out."), "\(outcome)")
                #expect(outcome.outputLines.last == "No user is signed in.", "\(outcome)")
                #expect(fixture.double.count(.authorization) == 1 && fixture.double.count(.revocation) == 2)
            }
        }
    }

    @Test func `an older registration has its secret in a file for one, and a wrong one is one line`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                for (secret, mode) in [
                    ("wrong-secret\n", 0o600), ("legacy-secret\n", 0o644), ("legacy-secret\n", 0o600),
                ] {
                    let file = home.path + "/secret"
                    try secret.write(toFile: file, atomically: true, encoding: .utf8)
                    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
                    let outcome = try await home.start(
                        ["me", "--client-secret-file", file] + home.server(fixture, client: "seven-pass-legacy")
                    ).outcome()
                    if secret.hasPrefix("wrong") {
                        outcome.fails(1, "invalid_client")
                    } else if mode != 0o600 {
                        outcome.fails(1, "chmod 600")
                    } else {
                        #expect(outcome.status == 0, "\(outcome)")
                    }
                }
                let pair = Data("seven-pass-legacy:legacy-secret".utf8).base64EncodedString()
                #expect(fixture.double.log(.token).last?.headers[.authorization] == "Basic \(pair)")
            }
        }
    }

    @Test func `dead tokens, a page instead of a response, and no server at all are one line each`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let server = home.server(fixture)
                let outcome = try await home.start(["sign-in"] + server).outcome()
                #expect(outcome.status == 0, "\(outcome)")
                fixture.double.fault(.htmlPage, at: .me)
                try await home.start(["me"] + server).outcome().fails(1, "text/html")
                let record = try #require(try await FileTokenStore(path: home.session).load())
                fixture.double.provider.revokeGrant(of: try #require(record.accessToken).value.reveal())
                try await home.start(["me"] + server).outcome().fails(1, "Sign in again")
                await fixture.double.stop()
                try await home.run("sign-in", "--server", fixture.double.issuer, "--client-id", "app")
                    .fails(1, "refused: no program listens at that port; check --server")
            }
        }
    }

    @Test(
        arguments: [
            (["--server", "https://op.example"], "--server and --client-id together"),
            (["--client-secret-file", "x"], "only with them"), (["--logout-timeout", "0"], "1 second or more"),
            (["--store", "memory"], "keyring or file:PATH"),
            (["--demo", "--server", "https://op.example", "--client-id", "app"], "found both"),
            (["--api-base", "https://a.example"], "expected --server"),
            (["--external-callback", "https://a.example"], "expected --server"),
            (["me", "--param", "novalue"], "<name=value>"),
            (["me", "--param", "=x"], "<name=value>"), (["sing-in"], "'sing-in' is invalid"),
            (["sing-in"], "sign-in, claims, me"), (["--no-such-option"], "Unknown option '--no-such-option'"),
            (["optins", "--type"], "Missing value for '--type"),
        ])
    func `wrong usage is one line with what is expected, and status 2`(arguments: [String], words: String) async throws
    {
        try await withSampleHome { home in try await home.start(arguments).outcome().fails(2, words) }
    }

    @Test func `at a real server Facebook's responses come from standard input, and the session lasts`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let options = ["--facebook", "--headless", "--external-callback", fixture.double.externalCallback]
                let input = Pipe.exclusive()
                let start = try home.start(["me"] + options + home.server(fixture), input: input)
                let response: @Sendable (String) -> Void = { url in
                    input.fileHandleForWriting.write(Data("no URL\n\(url)\n".utf8))
                }
                let outcome = try await withScriptedBrowser(
                    entries: ["provider": "facebook"], transport: fixture.environment.transport,
                    leave: { url, _ in response(url) }
                ) { browser in
                    for await line in start.lines {
                        guard let url = line.firstMatch(of: /http:.*/) else { continue }
                        try await browser.open(String(url.0))
                        if line.contains("/externals/callback") { break }
                    }
                    return await start.outcome()
                }
                #expect(outcome.status == 0 && outcome.output.contains("email: alice@example.com"), "\(outcome)")
                #expect(fixture.double.log(.externalCallback).map(\.status) == [303])
                // The second start does not sign in again.
                let again = try await home.start(["me"] + options + home.server(fixture)).outcome()
                #expect(again.status == 0 && again.output.contains("email: alice@example.com"), "\(again)")
                #expect(fixture.double.count(.authorization) == 1)
            }
        }
    }

    /// With a bare desktop, xdg-open reads the entries by itself. Before version 1.2, it then knows no scheme with a digit.
    @Test(arguments: [
        ("oauthtest://oauth-callback", "56a0982fcd8fb606d000b233", ""),
        ("de.7pass.example:/cb/authz", "seven-pass-app", "GNOME"),
    ])
    func `a redirect registered for a phone is delivered by the desktop`(
        uri: String, client: String, desktop: String
    ) async throws {
        try await withSevenPass {
            $0.register([RegisteredClient(id: client)], redirectURIs: [uri])
        } _: { fixture in
            try await withSampleHome { home in
                let outcome = try await home.startOnDesktop(
                    ["sign-in", "me", "logout", "--redirect-uri", uri] + home.server(fixture, client: client),
                    ["XDG_CURRENT_DESKTOP": desktop]
                )
                .outcome()
                #expect(outcome.output.contains("session has ended"), "\(outcome)")
                let logout = fixture.double.log(.endSession).map { $0.query["post_logout_redirect_uri"] }
                #expect(logout == [uri])
                #expect(outcome.status == 0 && outcome.output.contains("email: alice@example.com"), "\(outcome)")
                let query = try #require(fixture.double.log(.authorization).first?.query)
                #expect(query["redirect_uri"] == uri && query["client_id"] == client)
                let forms = fixture.double.log(.token).map(\.form)
                #expect(forms.map { $0["redirect_uri"] } == [uri] && forms.map { $0["client_id"] } == [client])
            }
        }
    }

    @Test func `without prompt=consent there is no refresh token, and the error names prompt=consent`() async throws {
        try await withSampleHome { home in
            let outcome = try await home.start(["sign-in", "refresh", "--param", "prompt=login"]).outcome()
            outcome.fails(1, "prompt=consent")
            #expect(!outcome.errors.contains("offline_access"), "\(outcome)")
        }
    }

    @Test func `seven-pass --facebook signs in through Facebook in the user's browser`() async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                let (command, addresses) = try await home.browserCommand()
                let options = ["sign-in", "--facebook", "--external-callback", fixture.double.externalCallback]
                let start = try await home.startOnDesktop(
                    options + home.server(fixture), ["BROWSER": command])
                let outcome = try await withScriptedBrowser(
                    entries: ["provider": "facebook"], transport: fixture.environment.transport,
                    leave: { url, _ in home.openOnDesktop(url) }
                ) { browser in
                    var left = 2
                    for await url in addresses {
                        try await browser.open(url)
                        left -= 1
                        if left == 0 { break }
                    }
                    return await start.outcome()
                }
                #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
                #expect(outcome.outputLines.suffix(2).first?.hasPrefix("Facebook has responded") == true, "\(outcome)")
                #expect(outcome.outputLines.last == "Signed in as Alice Liddell.", "\(outcome)")
                let callback = try #require(fixture.double.log(.externalCallback).first)
                #expect(callback.query["fbapp_type"] == "web" && callback.status == 303)
                #expect(fixture.double.count(.authorization) == 1)
            }
        }
    }

    @Test(arguments: [false, true])
    func `fbapp_pres reports the desktop's handler of fbauth2`(hasApp: Bool) async throws {
        try await withSevenPass { fixture in
            try await withSampleHome { home in
                if hasApp { try home.installFacebookApp() }
                let start = try await home.startOnDesktop(["sign-in", "--facebook"] + home.server(fixture))
                try await fixture.double.requests(1, at: .authorization)
                start.terminate()
                _ = await start.outcome()
                let present = fixture.double.log(.authorization).first?.query["fbapp_pres"]
                #expect(present == (hasApp ? "1" : "0"))
            }
        }
    }
}

extension SampleHome {
    fileprivate func server(_ fixture: SevenPassFixture, client: String = "seven-pass-app") -> [String] {
        [
            "--server", fixture.double.issuer, "--client-id", client, "--api-base", fixture.double.apiBase,
        ]
    }

    /// Makes a command for `$BROWSER` that hands each address to the one browser of the user, which keeps its cookies.
    fileprivate func browserCommand() async throws -> (path: String, addresses: AsyncStream<String>) {
        let (pipe, command) = (path + "/addresses", path + "/browser")
        try #require(mkfifo(pipe, 0o600) == 0)
        try await ProgramFile.write("#!/bin/sh\nprintf '%s\\n' \"$1\" > '\(pipe)'\n", to: command)
        let addresses = FileHandle(fileDescriptor: open(pipe, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
        return (command, Self.lines(of: addresses))
    }

    /// Starts it where a desktop entry can name it: a path without spaces, which xdg-open by itself could not read.
    fileprivate func startOnDesktop(_ arguments: [String], _ changes: [String: String] = [:]) async throws -> Start {
        try FileManager.default.createDirectory(
            atPath: path + "/run", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try await ProgramFile.copy(program, to: path + "/app")
        let provider = URL(filePath: program).deletingLastPathComponent().path + "/local-provider"
        try FileManager.default.createSymbolicLink(atPath: path + "/local-provider", withDestinationPath: provider)
        return try start(arguments, desktop.merging(changes) { $1 }, program: path + "/app")
    }

    private var desktop: [String: String] {
        [
            "XDG_RUNTIME_DIR": path + "/run", "XDG_DATA_DIRS": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere",
            "DISPLAY": ":nowhere",
        ]
    }

    /// Gives the desktop a URL of another scheme, as a browser does.
    fileprivate func openOnDesktop(_ url: String) {
        _ = try? start([url], desktop.merging(["XDG_CURRENT_DESKTOP": "GNOME"]) { $1 }, program: "/usr/bin/xdg-open")
    }

    /// Runs commands one after the other, until one fails, on a session bus with a keyring of its own.
    fileprivate func startWithKeyring(_ commands: [[String]]) throws -> Start {
        try FileManager.default.createDirectory(
            atPath: path + "/run", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let lines = commands.map { $0.map { "'\($0)'" }.joined(separator: " ") }
        return try start(
            UnlockedKeyring.arguments(running: lines.joined(separator: " && ")),
            ["XDG_RUNTIME_DIR": path + "/run"], program: UnlockedKeyring.program)
    }

    /// As a desktop entry and the list of defaults have it.
    fileprivate func installFacebookApp() throws {
        for (file, text) in [
            (".local/share/applications/facebook.desktop", "[Desktop Entry]\nType=Application\nName=F\nExec=true %u\n"),
            (".config/mimeapps.list", "[Default Applications]\nx-scheme-handler/fbauth2=facebook.desktop\n"),
        ] {
            let url = URL(fileURLWithPath: "\(path)/\(file)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: url, atomically: true, encoding: .utf8)
        }
    }
}
