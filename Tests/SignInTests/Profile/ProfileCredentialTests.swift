import AppAuthTestProvider
import Foundation
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

    /// Whoever can replace the file decides whom the program trusts, or gets another file's content.
    @Test(arguments: ["--client-secret-file", "--ca-file"])
    func `a sign-in does not read what another user can replace where only the profile names it`(option: String)
        async throws
    {
        try await withDesk { fixture in
            let folder = fixture.home + "/shared"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let file = folder + "/file"
            let isSecret = option == "--client-secret-file"
            let content =
                isSecret
                ? "s3cret: 100% äß+/= and thirty-two"
                : try String(contentsOfFile: "/etc/ssl/certs/ca-certificates.crt", encoding: .utf8)
            try Data(content.utf8).write(to: URL(filePath: file))
            let client = isSecret ? "demo-confidential" : "demo"
            let login = ["login", "--json", "--profile", "work"]
            let named = ["--issuer", fixture.issuer, "--client-id", client, option, file]
            _ = try await fixture.start(login + named).outcome().result()
            for (mode, isRead) in [(0o777, false), (0o755, true), (0o1777, true)] as [(mode_t, Bool)] {
                chmod(folder, mode)
                let outcome = try await fixture.start(login).outcome()
                if isRead {
                    _ = try outcome.result()
                } else {
                    let message = try outcome.failure(1, "invalid_configuration")
                    #expect(message.contains("which another user can replace or change"), "\(message)")
                    // The user names it now.
                    _ = try await fixture.start(login + [option, file]).outcome().result()
                }
                #expect(OwnPlace.isOnlyOurs(file) == isRead)
            }
            // Many systems give each user a group, and let it write to new files.
            guard chown(file, getuid(), getuid()) == 0 else { return }
            chmod(file, 0o664)
            #expect(OwnPlace.isOnlyOurs(file) && !OwnPlace.isFile(file))
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
