import Foundation
import JOSE
import Testing

/// Every argument that cannot be parsed ends with status 2 and one line.
@Suite(.timeLimit(.minutes(5)))
struct WrongUsageTests {
    private static let login = ["login", "--issuer", "https://op.example", "--client-id", "app"]

    @Test(arguments: [
        [], ["sign-on"], ["--frobnicate"], ["device"], ["client-credentials"], ["password"], ["register"],
        ["token", "--frobnicate"], ["token", "more"], ["discover"], ["request"], ["request", "GET"],
        ["login"], ["login", "--issuer", "https://op.example"], ["login", "--client-id", "app"], ["login", "--issuer"],
        ["device", "--issuer", "https://op.example"], ["device", "--client-id", "app"],
        ["device", "--issuer", "https://op.example", "--client-id", "app", "--redirect-port", "0"],
        ["helper", "git", "--host", "git.example.org", "--profile", "work", "--username", "a\u{7F}", "get"],
        ["token", "--format", "xoauth2", "--user", "a\nb"],
    ])
    func `a command that is missing, unknown or incomplete is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(arguments + ["--json"]).outcome().wrongUsage()
            let text = try await fixture.start(arguments).outcome()
            #expect(text.status == 2 && text.output.isEmpty && text.errorLines.count == 1, "\(text)")
        }
    }

    @Test(arguments: [
        (["sign-on"], "'sign-on'; see 'sign-in --help'"), (["sign-on", "--json"], "'sign-on'; see 'sign-in --help'"),
        (["--json", "login"], "expected a command first, found '--json'"),
        (["login", "--isuer", "https://op.example", "--client-id", "app"], "no option '--isuer'; see 'sign-in login"),
        (["login", "--client-id", "app", "--isuer=https://op.example"], "no option '--isuer'; see 'sign-in login"),
        (["token", "--forse-refresh"], "no option '--forse-refresh'; see 'sign-in token"),
        (["login", "--issuer", "https://op.example", "--dpop"], "expected --client-id"),
        (["login"], "expected --issuer and --client-id, or the --profile of a sign-in"),
        (["device"], "expected --issuer and --client-id, or the --profile of a sign-in"),
        (["device", "--issuer", "https://op.example"], "expected --client-id"),
        (["register"], "expected --issuer"),
        (["register", "--issuer", "https://op.example"], "expected --redirect-uri"),
        (["password", "--issuer", "https://op.example"], "expected --"), (["discover"], "expected <issuer>"),
    ])
    func `a misspelled command or option is named`(arguments: [String], message: String) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(arguments).outcome()
            #expect(outcome.status == 2 && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains(message), "\(outcome)")
        }
    }

    @Test(arguments: ["--help", "-h"])
    func `each command has its own help`(flag: String) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("token", flag)
            #expect(outcome.status == 0 && outcome.output.contains("USAGE: sign-in token"), "\(outcome)")
            #expect(outcome.output.contains("--force-refresh") && !outcome.output.contains("SUBCOMMANDS"))
            let text = outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(text.contains("a refresh that was sent is finished first"), "\(outcome)")
        }
    }

    @Test func `the help for git keeps git's other helpers from storing the token`() async throws {
        try await withDesk { fixture in
            let help = try await fixture.run("helper", "git", "--help").output
            let text = help.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            let add = "git config --global --add credential.https://git.example.org.helper \\ '!sign-in helper git"
            #expect(text.contains("git config --global credential.https://git.example.org.helper '' " + add), "\(help)")
        }
    }

    @Test func `the help of a sign-in begins with the usual options, and groups the others`() async throws {
        try await withDesk { fixture in
            for command in ["login", "device"] {
                let help = try await fixture.run(command, "--help").outputLines
                #expect(help.allSatisfy { $0.count <= 80 })
                var sections: [(title: String, options: [String])] = []
                for line in help {
                    if let title = line.wholeMatch(of: /([A-Z ]+):/)?.1 {
                        sections.append((String(title), []))
                    } else if !sections.isEmpty, let option = line.firstMatch(of: /^  (?:-h, )?(--[a-z-]+)/)?.1 {
                        sections[sections.count - 1].options.append(String(option))
                    }
                }
                let own = command == "login" ? ["BROWSER", "SESSION"] : []
                let titles = ["USUAL OPTIONS", "WHERE", "CLIENT", "REQUEST"] + own + ["NETWORK AND LOG", "OPTIONS"]
                #expect(sections.map(\.title) == titles)
                #expect(sections.first?.options.count == (command == "login" ? 11 : 9), "\(sections)")
                #expect(sections.last?.options == ["--version", "--help"], "\(sections)")
            }
        }
    }

    @Test func `help names the values that are accepted`() async throws {
        try await withDesk { fixture in
            let help = try await fixture.run("login", "--help").output
            #expect(help.contains("(default: 127.0.0.1)"), "\(help)")
            #expect(help.contains("client_secret_jwt, private_key_jwt"), "\(help)")
        }
    }

    @Test(arguments: [
        ["--redirect-port", "65536"], ["--redirect-port", "-1"], ["--redirect-port", "http"],
        ["--redirect-host", "192.0.2.1"], ["--redirect-path", "callback"], ["--redirect-path", "/a?b"],
        ["--max-age", "-1"], ["--max-age", "soon"],
        ["--timeout", "soon"], ["--timeout", "0"], ["--timeout", "-1"], ["--timeout", "nan"], ["--timeout", "inf"],
        ["--store", "keychain"], ["--store", "file:"], ["--store", ""], ["--client-auth", "tls"],
        ["--client-auth", "private_key_jwt"], ["--client-auth", "client_secret_jwt"],
        ["--client-auth", "none", "--client-key", "/dev/null"], ["--client-key", "pkcs11:object=a?pin-value=1"],
        ["--client-auth", "basic", "--client-secret-file", "/dev/null", "--client-key", "/dev/null"],
        ["--client-auth", "basic"], ["--client-auth", "none", "--client-secret-file", "/dev/null"],
        ["--client-assertion-file", "/dev/null", "--client-secret-file", "/dev/null"],
        ["--client-assertion-file", "/dev/null", "--client-key", "/dev/null"],
        ["--client-assertion-file", "/dev/null", "--client-auth", "none"],
        ["--client-assertion-file", "/dev/null", "--assertion-audience", "issuer"],
        ["--param", "prompt"], ["--param", "=login"], ["--param", "a=1", "--param", "a=2"],
        ["--client-id", ""], ["--prompt", "login", "--param", "prompt=none"], ["--json=yes"],
    ])
    func `a malformed value is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(Self.login + ["--json"] + arguments).outcome().wrongUsage()
        }
    }

    @Test(arguments: [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri",
    ])
    func `a parameter that the library must own is wrong usage, and is named`(name: String) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(Self.login + ["--json", "--param", "\(name)=x"]).outcome()
            #expect(try outcome.wrongUsage().contains("'\(name)'"))
        }
    }

    @Test(arguments: [
        ["GET", "https://api.example", "--header", "no colon"], ["GET", "https://api.example", "--header", "a b: c"],
        ["GET", "https://api.example", "--header", "Authorization: Bearer x"],
        ["GET", "https://api.example", "--header", "authorization:x"],
        ["G T", "https://api.example"], ["POST", "https://api.example", "--data", "x", "--data-file", "/dev/null"],
    ])
    func `an impossible request is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["request", "--json"] + arguments).outcome().wrongUsage()
        }
    }

    @Test func `contradictions are wrong usage`() async throws {
        try await withDesk { fixture in
            try await fixture.run("logout", "--json", "--local", "--revoke-only").wrongUsage()
            try await fixture.run("token", "--json", "--min-validity", "-5").wrongUsage()
        }
    }

    @Test(arguments: [["--help"], ["help"], ["login", "--help"], ["token", "--help"], ["help", "token"]])
    func `help is no error`(arguments: [String]) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(arguments).outcome()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            #expect(outcome.output.contains("USAGE: sign-in"), "\(outcome)")
        }
    }

    @Test(arguments: [
        "login", "device", "logout", "status", "accounts", "use", "export", "import", "token", "request", "userinfo",
        "exchange",
        "client-credentials", "register", "discover", "demo", "password", "helper git", "helper kubectl",
        "helper docker", "helper", "",
    ])
    func `the help of each command has an example`(command: String) async throws {
        try await withDesk { fixture in
            let help = try await fixture.start(command.split(separator: " ").map(String.init) + ["--help"]).outcome()
            #expect(help.output.contains("\n\nExample: "), "\(help)")
        }
    }

    @Test func `help lists only what the command accepts, and says what it does there`() async throws {
        try await withDesk { fixture in
            let host = ["--host", "git.example.org", "get"]
            for helper in [["git"] + host, ["kubectl"], ["docker"] + host] {
                let help = try await fixture.run("helper", helper[0], "--help").output
                #expect(help.contains("--timeout") && !help.contains("--json"), "\(help)")
                try await fixture.start(["helper"] + helper + ["--json"]).outcome().wrongUsage()
            }
            let status = try await fixture.run("status", "--help").output
            #expect(!status.contains("SIGN_IN_PROFILE") && !status.contains("required"), "\(status)")
        }
    }

    @Test func `the help names the variables and files`() async throws {
        try await withDesk { fixture in
            let help = try await fixture.run("--help").outputLines
            for name in [
                "SIGN_IN_PROFILE", "SIGN_IN_PASSPHRASE_FILE", "SIGN_IN_KEY_PIN_FILE", "XDG_STATE_HOME", "BROWSER",
                "CURL_CA_BUNDLE",
                "SSL_CERT_DIR", "NO_COLOR", "~/.local/state/sign-in",
            ] { #expect(help.contains { $0.hasPrefix("  \(name) ") }, "\(name)") }
            let token = try await fixture.run("token", "--help").output
            #expect(token.contains("ACCESS_TOKEN") && token.contains("ID_TOKEN"), "\(token)")
        }
    }

    @Test(arguments: ["--help", "--version", "login --help", "--generate-completion-script bash"])
    func `help that cannot be written is a failure`(line: String) async throws {
        try await withDesk { fixture in
            let script = #"exec "$0" "$@" >/dev/full"#
            let prefix = ["sh", "-c", script, try BuiltProducts.path("sign-in")]
            let outcome = try await fixture.start(prefix, line.components(separatedBy: " ")).outcome()
            #expect(outcome.status == 1 && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("standard output cannot be written"), "\(outcome)")
        }
    }

    @Test func `the help groups the commands, with password last, and --version prints a version`() async throws {
        try await withDesk { fixture in
            let help = try await fixture.run("--help").outputLines
            let commands = help.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            #expect(help.filter { $0.hasSuffix("SUBCOMMANDS:") }.count > 3, "\(help)")
            #expect(commands.last?.hasPrefix("  password ") == true, "\(help)")
            for line in [["--version"], ["login", "--version"]] {
                let version = try await fixture.start(line).outcome()
                #expect(version.status == 0 && version.output.contains(/^\d+\.\d+\.\d+\n$/), "\(version)")
            }
        }
    }
}
