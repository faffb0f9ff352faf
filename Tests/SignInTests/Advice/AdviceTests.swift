import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// A situation in which the command prints a remedy, and what the user then does.
///
/// All lines are for `sh`. In them and in the words of the remedy, `ISSUER` stands for the provider's issuer. In the
/// lines, `API` stands for the URL of its resource.
private struct Remedy: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        /// Repeats the line with the printed options.
        case adding(String)
        /// Repeats the line without these words, as printed.
        case leavingOut(String)
        /// Runs the printed line in the same shell before the line.
        case first(String)
        /// Repeats the line with this in place of some words.
        case replacing(String, with: String)
    }

    let testDescription: String
    let line: String
    /// The words of the message, which contain those of the step.
    let printed: String
    let step: Step
    /// The status of the line before the remedy.
    var status: CInt = 1
    var configuration = LocalProvider.Configuration.demo
    var prepare: @Sendable (CommandFixture) async throws -> Void = { _ in }

    init(
        _ situation: String, _ line: String, prints printed: String, _ step: Step, status: CInt = 1,
        _ configuration: LocalProvider.Configuration = .demo,
        prepare: @escaping @Sendable (CommandFixture) async throws -> Void = { _ in }
    ) {
        (testDescription, self.line, self.printed, self.step) = (situation, line, printed, step)
        (self.status, self.configuration, self.prepare) = (status, configuration, prepare)
    }

    /// The line after the remedy.
    var followed: String {
        switch step {
        case .adding(let words): "\(line) \(words)"
        case .leavingOut(let words): line.replacing(" \(words)", with: "")
        case .first(let other): other + " && " + line
        case .replacing(let words, let others): line.replacing(words, with: others)
        }
    }
}

extension Remedy {
    private static let login = "sign-in login --issuer ISSUER --client-id demo"

    static let all: [Remedy] = [
        Remedy(
            "the provider takes only pushed requests, which its metadata does not say", login, prints: "; use --par",
            .adding("--par"), .demo { $0.requiresPushedRequests = true }
        ) { fixture in
            fixture.provider.fault(
                .editDocument { $0["require_pushed_authorization_requests"] = nil }, at: .openIDConfiguration,
                times: nil)
        },
        Remedy(
            "a server of OAuth without OpenID Connect", login, prints: "use --scope without openid",
            .adding("--scope offline_access")
        ) { fixture in
            fixture.provider.fault(.editDocument { $0["jwks_uri"] = nil }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.status(.notFound), at: .oauthMetadata, times: nil)
        },
        Remedy(
            "a provider without DPoP", login + " --dpop", prints: "does not support DPoP: leave out --dpop",
            .leavingOut("--dpop")
        ) { fixture in
            fixture.provider.fault(.editDocument { $0["token_type"] = "Bearer" }, at: .token, times: nil)
        },
        Remedy(
            "a provider that requires DPoP", login, prints: "; use --dpop", .adding("--dpop"),
            .demo { $0.clients[0].requiresDPoP = true }),
        Remedy(
            "a provider that is down", "sign-in token --force-refresh", prints: "; the session stays: try again in 1 s",
            .first("sleep 1")
        ) { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.status(.serviceUnavailable, [.retryAfter: "1"]), at: .token)
        },
        Remedy(
            "a userinfo endpoint that is down", login + " --userinfo",
            prints: "you are not signed in: try again later, or without --userinfo", .leavingOut("--userinfo")
        ) { $0.provider.fault(.status(.internalServerError), at: .userInfo, times: nil) },
        Remedy(
            "a wrong secret",
            "sign-in login --issuer ISSUER --client-id demo-confidential --client-secret-file /etc/hostname",
            prints: "; check the client’s secret", .replacing("/etc/hostname", with: "\"$HOME/secret\"")
        ) { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            try Data(secret.utf8).write(to: URL(filePath: fixture.home + "/secret"))
        },
        Remedy(
            "a client that has a secret", "sign-in login --issuer ISSUER --client-id demo-confidential",
            prints: "if the client has a secret, pass it with --client-secret-file",
            .adding("--client-secret-file \"$HOME/secret\"")
        ) { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            try Data(secret.utf8).write(to: URL(filePath: fixture.home + "/secret"))
        },
        Remedy(
            "a client whose secret was changed at the provider", "sign-in token --force-refresh",
            prints:
                "sign in with: sign-in login --issuer ISSUER --client-id demo-confidential --client-secret-file FILE",
            .first("sign-in login --issuer ISSUER --client-id demo-confidential --client-secret-file \"$HOME/secret\"")
        ) { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            try Data(secret.utf8).write(to: URL(filePath: fixture.home + "/secret"))
            let options = ["--client-secret-file", fixture.home + "/secret"]
            _ = try await fixture.start(fixture.loginArguments(options, client: "demo-confidential")).outcome().result()
            fixture.provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
        },
        Remedy(
            "a resource that requires more scopes than can be shown", "sign-in request API --step-up",
            prints: "with --scope. Sign in with: \(login)", .first(login + " --scope 'openid offline_access profile'")
        ) { fixture in
            try await fixture.signIn()
            let scope = (0..<200).map { "scope\($0)" }.joined(separator: " ")
            let challenge = "Bearer error=\"insufficient_scope\", scope=\"\(scope)\""
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api)
        },
        Remedy(
            "an encrypted store without its passphrase", login + " --store encrypted:\"$HOME/s\"",
            prints: "Set SIGN_IN_PASSPHRASE_FILE to the path of a file that contains it",
            .first("export SIGN_IN_PASSPHRASE_FILE=\"$HOME/passphrase\"")
        ) { try Data("correct horse".utf8).write(to: URL(filePath: $0.home + "/passphrase")) },
        Remedy(
            "an encrypted store with another passphrase",
            "export SIGN_IN_PASSPHRASE_FILE=\"$HOME/other\"; sign-in token --store encrypted:\"$HOME/s\"",
            prints: "Set SIGN_IN_PASSPHRASE_FILE to a file with the right passphrase",
            .replacing("$HOME/other", with: "$HOME/passphrase")
        ) { fixture in
            for (name, passphrase) in [("passphrase", "correct horse"), ("other", "battery staple")] {
                try Data(passphrase.utf8).write(to: URL(filePath: "\(fixture.home)/\(name)"))
            }
            let variable = ["SIGN_IN_PASSPHRASE_FILE": fixture.home + "/passphrase"]
            _ = try await fixture.login("--store", "encrypted:\(fixture.home)/s", with: variable).result()
        },
        Remedy(
            "another user signs in with a profile", "\(bob) sign-in login --profile work",
            prints: "To replace it, sign out of it first: sign-in logout --profile work",
            .first("sign-in logout --profile work"), .demo { $0.users.append(.bob) }
        ) { try await $0.signIn(profile: "work") },
        Remedy(
            "a token with a key is to be a bearer token", "sign-in token --format header",
            prints: "or sign in without --dpop", .first(login)
        ) { _ = try await $0.login("--dpop").result() },
        Remedy(
            "a file with the session of another client",
            "sign-in token --store file:\"$HOME/s\" --issuer ISSUER --client-id other",
            prints: "Use --issuer and --client-id for that session, or leave them out",
            .leavingOut("--issuer ISSUER --client-id other")
        ) { _ = try await $0.login("--store", "file:\($0.home)/s").result() },
        Remedy(
            "the same file, with its client",
            "sign-in token --store file:\"$HOME/s\" --issuer ISSUER --client-id other",
            prints: "has the session of demo at ISSUER. Use --issuer and --client-id for that session",
            .replacing("other", with: "demo")
        ) { _ = try await $0.login("--store", "file:\($0.home)/s").result() },
        Remedy(
            "a sign-in with a new profile", "sign-in login --profile new",
            prints: "sign in with --issuer and --client-id once", .adding("--issuer ISSUER --client-id demo"), status: 2
        ),
        Remedy(
            "a token of a new profile", "sign-in token --profile new",
            prints: "sign in with --profile new, --issuer and --client-id",
            .first("sign-in login --profile new --issuer ISSUER --client-id demo")),
        Remedy(
            "nobody is signed in", "sign-in token --issuer ISSUER --client-id demo", prints: ". Sign in with: \(login)",
            .first(login)),
        Remedy(
            "nothing is stored but a profile", "sign-in token", prints: ". Sign in with: sign-in login --profile work",
            .first("sign-in login --profile work")
        ) { fixture in
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("logout", "--local", "--json").result()
        },
        Remedy(
            "nothing is stored but a registered client", "sign-in token",
            prints: ". Sign in with: sign-in login --issuer ISSUER --client-id ",
            .first("sign-in login --issuer ISSUER")
        ) { fixture in
            let uri = "http://127.0.0.1/callback"
            _ = try await fixture.run("register", "--json", "--issuer", fixture.issuer, "--redirect-uri", uri).result()
        },
        Remedy(
            "the profile in use is signed out", "sign-in token",
            prints: "unless you choose none: sign-in use --none", .first("sign-in use --none")
        ) { fixture in
            try await fixture.signIn()
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("use", "work").status
            _ = try await fixture.run("logout", "--profile", "work", "--local", "--json").result()
        },
        Remedy(
            "a profile that is signed out", "sign-in status --profile work",
            prints: "Sign in with: sign-in login --profile work", .first("sign-in login --profile work")
        ) { fixture in
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("logout", "--profile", "work", "--local", "--json").result()
        },
        Remedy(
            "several sessions", "sign-in token", prints: "choose one:\n", .adding("--profile work"), status: 2
        ) { fixture in for name in ["home", "work"] { try await fixture.signIn(profile: name) } },
        Remedy(
            "a helper without a session’s name", "\(request) | sign-in helper git --host git.example.org get",
            prints: "--profile work", .adding("--profile work"), status: 2
        ) { try await $0.signIn(profile: "work") },
        Remedy(
            "a sign-out of a client whose session has a profile", "sign-in logout --issuer ISSUER --client-id demo",
            prints: "To sign out of the session of a profile: sign-in logout --profile work",
            .first("sign-in logout --profile work"), status: 0
        ) { try await $0.signIn(profile: "work") },
        Remedy(
            "a default scope that the provider does not list", login, prints: "To request it anyway, use --scope.",
            .adding("--json --scope 'openid profile' | grep '\"scope\":\"openid profile\"'"), status: 0
        ) { fixture in
            let scopes: JSON = ["openid", "offline_access"]
            fixture.provider.fault(
                .editDocument { $0["scopes_supported"] = scopes }, at: .openIDConfiguration, times: nil)
        },
        Remedy(
            "no keyring", login + " --store keyring", prints: "Without a keyring, use --store file:PATH",
            .replacing("--store keyring", with: "--store file:\"$HOME/s\"")),
        Remedy(
            "a registration without a redirect URI", "sign-in register --issuer ISSUER",
            prints: "expected --redirect-uri, for example http://127.0.0.1/callback",
            .adding("--redirect-uri http://127.0.0.1/callback"), status: 2),
        Remedy(
            "a request of nothing", "sign-in request", prints: "expected <url>; see 'sign-in request --help'",
            .replacing("request", with: "request --help"), status: 2),
        Remedy(
            "a value that is no number", "sign-in token --min-validity soon",
            prints: "'--min-validity <min-validity>'; see 'sign-in token --help'",
            .replacing("token --min-validity soon", with: "token --help"), status: 2),
        Remedy(
            "too few open files", "ulimit -S -n 12; sign-in token --force-refresh",
            prints: "Raise the limit: ulimit -n 1024",
            .replacing("12;", with: "12; ulimit -n 1024;")
        ) { try await $0.signIn() },
    ]

    private static let bob = "SCRIPTED_BROWSER_FORM='username=bob&password=builder'"
    private static let request = #"printf 'protocol=https\nhost=git.example.org\n\n'"#
}

extension LocalProvider.Configuration {
    fileprivate static func demo(_ change: (inout Self) -> Void) -> Self {
        var configuration = demo
        change(&configuration)
        return configuration
    }
}

/// The remedy that a command prints helps, in the situation in which it is printed.
@Suite(.timeLimit(.minutes(5)))
struct AdviceTests {
    @Test(arguments: Remedy.all)
    fileprivate func `a printed remedy helps`(remedy: Remedy) async throws {
        try await withDesk(remedy.configuration) { fixture in
            try await remedy.prepare(fixture)
            func run(_ line: String) async throws -> Outcome {
                let line = line.replacing("ISSUER", with: fixture.issuer)
                    .replacing("API", with: fixture.provider.url(.api))
                return try await fixture.start(["sh", "-c", line], []).outcome()
            }
            let before = try await run(remedy.line)
            #expect(before.status == remedy.status, "\(before)")
            let printed = remedy.printed.replacing("ISSUER", with: fixture.issuer)
            #expect((before.output + before.errors).contains(printed), "\(before)")
            let after = try await run(remedy.followed)
            #expect(after.status == 0, "\(remedy.followed): \(after)")
        }
    }
}
