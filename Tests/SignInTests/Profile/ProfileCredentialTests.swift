import AppAuthTestProvider
import Foundation
import JOSE
import Testing

@testable import SignInTool

/// The client's credentials that a profile names by their files: whose they are, and when they are read.
@Suite(.timeLimit(.minutes(5)))
struct ProfileCredentialTests {
    /// RFC 6749 §2.3.1: the credentials are for the former issuer.
    @Test func `for another issuer, the options of the profile are repeated, and the place of other credentials`()
        throws
    {
        let known = SignInLine([
            "login", "--issuer", "https://a.example", "--client-id", "app", "--client-secret-file", "/s",
            "--client-key=/k",
            "--metadata-url", "https://a.example/m", "--scope", "openid x", "--redirect-port", "1", "--redirect-port",
            "2", "--dpop",
        ])
        let line = SignInLine(["login", "--issuer", "https://b.example", "--scope", "openid"]).completed(from: known)
        #expect(
            line.words == [
                "login", "--issuer", "https://b.example", "--scope", "openid", "--client-id", "app",
                "--client-secret-file", "FILE", "--client-key", "FILE", "--redirect-port", "1", "--redirect-port", "2",
                "--dpop",
            ])
    }

    /// That user would decide whom the program trusts, or get the content of a private file.
    @Test(
        .enabled(if: geteuid() == 0, "only root can give files away"),
        arguments: ["--client-secret-file", "--ca-file"])
    func `what another user has put in the place of a file is not read where only the profile names it`(option: String)
        async throws
    {
        try await withDesk { fixture in
            let folder = fixture.home + "/shared"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            chmod(folder, 0o1777)
            let (file, link) = (folder + "/file", fixture.home + "/link")
            let isSecret = option == "--client-secret-file"
            let roots = "/etc/ssl/certs/ca-certificates.crt"
            let content =
                try isSecret ? "s3cret: 100% äß+/= and thirty-two" : String(contentsOfFile: roots, encoding: .utf8)
            try Data(content.utf8).write(to: URL(filePath: file))
            symlink(file, link)
            let client = isSecret ? "demo-confidential" : "demo"
            let login = ["login", "--json", "--profile", "work"]
            let named = ["--issuer", fixture.issuer, "--client-id", client, option, link]
            _ = try await fixture.start(login + named).outcome().result()
            for (path, owner, isRead) in [
                (file, 1001, false), (file, 0, true), (folder, 1001, false), (folder, 0, true), (link, 1001, false),
                (link, 0, true),
            ] as [(String, uid_t, Bool)] {
                lchown(path, owner, 0)
                #expect(OwnPlace.isPlanted(link) == !isRead)
                let outcome = try await fixture.start(login).outcome()
                if isRead {
                    _ = try outcome.result()
                } else {
                    let message = try outcome.failure(1, "invalid_configuration")
                    #expect(message.hasSuffix("is another user’s. Name another file with \(option)"), "\(message)")
                    // The user names it now.
                    _ = try await fixture.start(login + [option, link]).outcome().result()
                }
            }
        }
    }

    /// The owner of a folder may have files in it.
    @Test func `files of the system, of the owner of a folder, and those that are not there are not planted`() throws {
        for path in ["/etc/passwd", "/dev/stdin", "/proc/self/fd/0", "/no/such/file", "/etc/../etc/./passwd"] {
            #expect(!OwnPlace.isPlanted(path), "\(path)")
        }
    }

    /// A session remembers where the assertion is, which each refresh sends.
    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `a refresh does not send an assertion that another user has put there`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/assertion"
            try Data("e30.e30.c2ln".utf8).write(to: URL(filePath: file))
            let tokens: JSON = ["access_token": "a", "token_type": "Bearer", "refresh_token": "r", "expires_in": 3600]
            fixture.provider.fault(.respond(.json(tokens)), at: .token, times: nil)
            _ = try await fixture.login("--scope", "profile", "--client-assertion-file", file).result()
            for (owner, count) in [(1001, 0), (0, 1)] as [(uid_t, Int)] {
                chown(file, owner, 0)
                let before = fixture.provider.count(.token)
                let outcome = try await fixture.start(["token", "--json", "--force-refresh"]).outcome()
                #expect(fixture.provider.count(.token) - before == count)
                #expect(outcome.status == (count == 0 ? 1 : 0), "\(outcome)")
                #expect(outcome.output.contains("what is there now is another user’s") == (count == 0), "\(outcome)")
            }
        }
    }

    /// A client's secret is replaced while the session goes on.
    @Test func `each command reads the file of the client's secret that its profile remembers`() async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/secret"
            func write(_ secret: String) throws { try Data((secret + "\n").utf8).write(to: URL(filePath: file)) }
            let secret = "s3cret: 100% äß+/= and thirty-two"
            try write(secret)
            _ = try await fixture.run(
                "login", "--json", "--profile", "work", "--issuer", fixture.issuer, "--client-id", "demo-confidential",
                "--client-secret-file", file
            ).result()
            func refresh() async throws -> Outcome {
                try await fixture.run("token", "--json", "--profile", "work", "--force-refresh")
            }
            try write("another")
            try await refresh().failure(1, "invalid_client")
            try write(secret)
            _ = try await refresh().result()
            // RFC 6749 §2.3.1: the profile may not know its latest session yet, which is another client's. And a secret may have
            // come from what another command reads.
            let profile = fixture.sessions + "/work.profile"
            let known = try String(contentsOfFile: profile, encoding: .utf8)
            let links = fixture.home + "/links"
            for (name, mode) in [("links", 0o700), ("shared", 0o777)] {
                try FileManager.default.createDirectory(
                    atPath: "\(fixture.home)/\(name)", withIntermediateDirectories: false)
                try Data("for another".utf8).write(to: URL(filePath: "\(fixture.home)/\(name)/secret"))
                chmod("\(fixture.home)/\(name)", mode_t(mode))
            }
            chmod(links + "/secret", 0o666)
            symlink("/dev/stdin", links + "/input")
            symlink("../shared/secret", links + "/shared")
            symlink("/dev", links + "/devices")
            symlink("../secret", links + "/own")
            for (own, other) in [
                ("demo-confidential", "another"), (fixture.issuer, "https://op.example"), (file, links + "/secret"),
                (file, fixture.home + "/shared/secret"), (file, links + "/shared"), (file, "/dev/fd/0"),
                (file, "/proc/self/fd/0"), (file, "//dev/stdin"), (file, "/usr/../dev/stdin"), (file, links + "/input"),
                (file, links + "/devices/stdin"),
            ] {
                try known.replacing("\"\(own)\"", with: "\"\(other)\"")
                    .write(toFile: profile, atomically: true, encoding: .utf8)
                try write("for another")
                let arguments = ["token", "--json", "--profile", "work", "--force-refresh"]
                _ = try await fixture.start(["sh", "-c", #"exec sign-in "$@" < "$0""#, file] + arguments, []).outcome()
                    .result()
            }
            try known.replacing(file, with: links + "/own").write(toFile: profile, atomically: true, encoding: .utf8)
            try await refresh().failure(1, "invalid_client")
            try known.write(toFile: profile, atomically: true, encoding: .utf8)
            try write(secret)
            _ = try await refresh().result()
            // The secret that is stored is that of the last refresh.
            try FileManager.default.removeItem(atPath: file)
            _ = try await refresh().result()
            #expect(mkfifo(file, 0o600) == 0)
            _ = try await refresh().result()
        }
    }
}
