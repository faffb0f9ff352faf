import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// Which certificates are trusted, against openssl's own server.
@Suite(.timeLimit(.minutes(5)))
struct CertificateTests {
    @Test func `a certificate of an unknown authority is refused in one line`() async throws {
        try await withTLSServer { fixture, server in
            let outcome = try await fixture.run("discover", server.issuer, "--json")
            let message = try outcome.failure(1, "transport")
            #expect(message.contains("the certificate of localhost is not trusted"), "\(message)")
            #expect(message.hasSuffix("name the authority’s certificate with --ca-file"), "\(message)")
            #expect(outcome.errorLines.count == 1)
        }
    }

    @Test(arguments: ["CURL_CA_BUNDLE", "SSL_CERT_FILE"])
    func `a variable names the file of roots`(variable: String) async throws {
        try await withTLSServer { fixture, server in
            let outcome = try await fixture.run(
                "discover", server.issuer, "--json", with: [variable: server.certificate])
            #expect(try outcome.result()["issuer"]?.string == server.issuer)
        }
    }

    @Test func `a variable names the folder of roots`() async throws {
        try await withTLSServer { fixture, server in
            let asked = ["openssl", "x509", "-noout", "-hash", "-in", server.certificate]
            let hash = try #require(try await fixture.start(asked, []).outcome().outputLines.first)
            let folder = fixture.home + "/roots"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: server.certificate, toPath: "\(folder)/\(hash).0")
            let outcome = try await fixture.run("discover", server.issuer, "--json", with: ["SSL_CERT_DIR": folder])
            #expect(try outcome.result()["issuer"]?.string == server.issuer)
        }
    }

    @Test func `CURL_CA_BUNDLE takes precedence over SSL_CERT_FILE`() async throws {
        try await withTLSServer { fixture, server in
            let other = "/etc/ssl/certs/ca-certificates.crt"
            let variables = ["CURL_CA_BUNDLE": other, "SSL_CERT_FILE": server.certificate]
            try await fixture.run("discover", server.issuer, "--json", with: variables).failure(1, "transport")
        }
    }

    @Test func `--ca-file adds roots to the others`() async throws {
        try await withTLSServer { fixture, server in
            let arguments = ["discover", server.issuer, "--json", "--ca-file", server.certificate]
            _ = try await fixture.start(arguments).outcome().result()
            let variables = ["SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"]
            _ = try await fixture.start(arguments, variables).outcome().result()
        }
    }

    /// Otherwise the session would be lost with its first token: in a job, nobody adds the option.
    @Test func `what a profile remembers of the network counts for each command with its session`() async throws {
        try await withCertificate { files in
            var provider = LocalProvider.Configuration.demo
            provider.tls = files
            try await withDesk(provider) { fixture in
                for (name, text) in [("secret", "s3cret: 100% äß+/= and thirty-two"), ("password", "looking-glass")] {
                    try Data(text.utf8).write(to: URL(filePath: "\(fixture.home)/\(name)"))
                }
                _ = try await fixture.run(
                    "password", "--json", "--profile", "work", "--ca-file", files.certificate, "--issuer",
                    fixture.issuer,
                    "--client-id", "demo-confidential", "--client-secret-file", fixture.home + "/secret", "--username",
                    "alice", "--password-file", fixture.home + "/password", "--scope", "openid offline_access"
                ).result()
                _ = try await fixture.run("token", "--json", "--profile", "work", "--force-refresh").result()
                _ = try await fixture.run("userinfo", "--json", "--profile", "work").result()
                // What the command itself names comes first.
                let other = try await fixture.run(
                    "token", "--json", "--profile", "work", "--force-refresh", "--ca-file", "/etc/hostname")
                try other.failure(1, "invalid_configuration")
                let logout = try await fixture.run("logout", "--json", "--profile", "work", "--revoke-only").result()
                #expect(logout["revoked"]?.array?.count == 2, "\(logout)")
            }
        }
    }

    @Test func `a file without certificates is refused, and named`() async throws {
        try await withTLSServer { fixture, server in
            for (arguments, variables) in [(["--ca-file", "/etc/hostname"], [:]), ([], ["SSL_CERT_FILE": "/none"])] {
                let outcome = try await fixture.start(["discover", server.issuer, "--json"] + arguments, variables)
                    .outcome()
                let message = try outcome.failure(1, "invalid_configuration")
                #expect(message.contains(arguments.last ?? "/none"), "\(message)")
            }
        }
    }

    private struct TLSServer {
        let issuer: String
        let certificate: String
    }

    /// `openssl s_server`, which responds with files, one of which is the metadata of its own address.
    private func withTLSServer(_ body: (CommandFixture, TLSServer) async throws -> Void) async throws {
        try await withDesk { fixture in
            try await withCertificate { files in
                let folder = fixture.home + "/tls"
                let wellKnown = folder + "/.well-known"
                try FileManager.default.createDirectory(atPath: wellKnown, withIntermediateDirectories: true)
                let serve = #"cd "$0" && exec openssl s_server -accept 127.0.0.1:0 -cert "$1" -key "$2" -HTTP"#
                let server = try fixture.start(["sh", "-c", serve, folder, files.certificate, files.key], [])
                defer { server.send(SIGTERM) }
                let line = try await server.outputLine { $0.hasPrefix("ACCEPT ") }
                let port = line.components(separatedBy: ":").last ?? ""
                let issuer = "https://localhost:\(port)"
                let metadata =
                    #"{"issuer":"\#(issuer)","authorization_endpoint":"\#(issuer)/a","token_endpoint":"\#(issuer)/t"}"#
                let response = "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n\(metadata)"
                try response.write(toFile: wellKnown + "/openid-configuration", atomically: true, encoding: .utf8)
                try await body(fixture, TLSServer(issuer: issuer, certificate: files.certificate))
            }
        }
    }
}
