import AppAuthTestProvider
import Foundation
import Testing

/// `sign-in token` for msmtp and mbsync, at a real Dovecot that asks the provider about each token.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled("needs isync, libsasl2-modules-kdexoauth2, msmtp, Dovecot 2.3 with IMAP and submission, and aiosmtpd") {
        try await MailServer.isInstalled()
    })
struct MailTests {
    private func withServer(_ body: (CommandFixture, MailServer) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(MailServer.client)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "mail")
            let server = try await MailServer.start(for: fixture)
            let result: Result<Void, any Error>
            do { result = .success(try await body(fixture, server)) } catch { result = .failure(error) }
            try await server.stop()
            try result.get()
        }
    }

    @Test func `mbsync fetches what msmtp has sent, each with the token`() async throws {
        try await withServer { fixture, server in
            for mechanism in ["oauthbearer", "xoauth2"] {
                let sent = try await fixture.msmtp(server, mechanism, "Subject: by \(mechanism)\n\nHello\n")
                #expect(sent.status == 0 && sent.errors.isEmpty, "\(sent)")
            }
            let fetched = try await fixture.mbsync(server).outcome()
            #expect(fetched.status == 0, "\(fetched)")
            #expect(fixture.inbox.subjects == ["by oauthbearer", "by xoauth2"])
            // Dovecot has asked for each login, and one access token was enough.
            #expect(fixture.provider.count(.introspection) == 3)
            #expect(fixture.provider.count(.token) == 1)
        }
    }

    @Test func `an expired token is refreshed before mbsync gets it`() async throws {
        try await withServer { fixture, server in
            try CommandFixture.editSession(at: fixture.sessions + "/mail.json") { try $0.expire() }
            let fetched = try await fixture.mbsync(server).outcome()
            #expect(fetched.status == 0, "\(fetched)")
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `a token that was revoked fetches nothing and sends nothing`() async throws {
        try await withServer { fixture, server in
            let token = fixture.home + "/token"
            try await fixture.run("token").output.write(toFile: token, atomically: true, encoding: .utf8)
            func send(_ subject: String) async throws -> Outcome {
                try await fixture.msmtp(server, "xoauth2", "Subject: \(subject)\n\n", password: "cat \(token)")
            }
            #expect(try await send("before").status == 0)
            #expect(try await fixture.run("logout", "--revoke-only").status == 0)
            // mbsync 1.4 waits for the server after a refusal, which closes the connection after three minutes.
            let fetching = try fixture.mbsync(server, password: "cat \(token)")
            try await server.refusal()
            fetching.send(SIGTERM)
            _ = try await fetching.outcome()
            #expect(try await send("after").status != 0)
            #expect(fixture.inbox.subjects.isEmpty)
            #expect(server.inbox.subjects == ["before"])
        }
    }

    @Test(arguments: ["xoauth2", "oauthbearer"])
    func `Dovecot accepts the response of --format, only for the token's user`(format: String) async throws {
        try await withServer { fixture, server in
            for (user, answer) in [("alice", "a OK"), ("bob", "a NO")] {
                let response = try await fixture.run("token", "--format", format, "--user", user).output
                // RFC 7628 §3.2.3: the client ends a failed exchange with ^A, in base64. IMAP has lines with CRLF.
                let commands = "a AUTHENTICATE \(format.uppercased()) \(response)AQ==\nb LOGOUT\n"
                let session = try await ChildProcess(
                    [
                        "openssl", "s_client", "-quiet", "-verify_return_error", "-CAfile", server.certificate,
                        "-connect", "127.0.0.1:\(server.ports.imap)",
                    ], environment: fixture.environment, text: commands.replacing("\n", with: "\r\n")
                ).outcome()
                #expect(session.output.contains("\(answer) "), "\(session)")
            }
        }
    }
}

extension CommandFixture {
    /// Sends a mail to the server with msmtp.
    fileprivate func msmtp(
        _ server: MailServer, _ mechanism: String, _ mail: String, password: String = "sign-in token --profile mail"
    ) async throws -> Outcome {
        let settings = """
            account work
            host localhost
            port \(server.ports.submission)
            tls on
            tls_starttls off
            tls_trust_file \(server.certificate)
            from alice@example.org
            auth \(mechanism)
            user alice
            passwordeval \(password)

            """
        // msmtp refuses settings that others can read.
        let file = home + "/msmtprc"
        let isWritten = FileManager.default.createFile(
            atPath: file, contents: Data(settings.utf8), attributes: [.posixPermissions: 0o600])
        #expect(isWritten)
        return try await ChildProcess(
            ["msmtp", "--file=\(file)", "--account=work", "zoe@example.org"], environment: environment, text: mail
        ).outcome()
    }

    /// Fetches the mail of the server with mbsync.
    fileprivate func mbsync(
        _ server: MailServer, password: String = "sign-in token --profile mail"
    ) throws -> ChildProcess {
        let settings = """
            IMAPAccount work
            Host localhost
            Port \(server.ports.imap)
            SSLType IMAPS
            CertificateFile \(server.certificate)
            AuthMechs XOAUTH2
            User alice
            PassCmd "\(password)"

            IMAPStore server
            Account work

            MaildirStore local
            Inbox \(inbox.path)

            Channel work
            Far :server:
            Near :local:
            Sync Pull
            SyncState *

            """
        let file = home + "/mbsyncrc"
        try settings.write(toFile: file, atomically: true, encoding: .utf8)
        return try ChildProcess(["mbsync", "--config", file, "work"], environment: environment)
    }

    /// Where mbsync puts the mail.
    fileprivate var inbox: Maildir { Maildir(path: home + "/inbox") }
}
