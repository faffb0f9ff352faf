import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A provider that is spoken to by TLS, against `openssl s_client`.
@Suite(.timeLimit(.minutes(1)))
struct TLSTests {
    @Test func `a large response arrives whole`() async throws {
        try await withTLSProvider { provider, files in
            provider.fault(.oversize(bytes: 1 << 20), at: .openIDConfiguration)
            let response = try await get(.openIDConfiguration, of: provider, files)
            #expect(response.status == 200 && response.isComplete && response.body.count == 1 << 20)
            #expect(
                response.json?["issuer"]?.string == provider.issuer && provider.issuer.hasPrefix("https://127.0.0.1:"))
            #expect(response.json?["tls_client_certificate_bound_access_tokens"] == true)
        }
    }

    @Test func `the log has the certificate that a client shows, and none of a client without`() async throws {
        try await withTLSProvider { provider, files in
            _ = try await get(.keys, of: provider, files)
            _ = try await get(.keys, of: provider, files, showing: files)
            let pem = try String(contentsOfFile: files.certificate, encoding: .utf8)
            let body = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            let der = try #require(Data(base64Encoded: body))
            #expect(provider.log(.keys).map(\.certificate) == [nil, Array(der)])
        }
    }

    @Test func `a client that speaks no TLS gets no HTTP response`() async throws {
        try await withTLSProvider { provider, _ in
            let request = Array("GET /jwks HTTP/1.1\r\nHost: 127.0.0.1:\(provider.port)\r\n\r\n".utf8)
            let response = try await Wire.exchange(request, port: provider.port)
            #expect(!response.head.hasPrefix("HTTP/") && provider.log.isEmpty)
        }
    }

    @Test func `a file without a certificate is named`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.tls = TLSFiles(certificate: "/etc/hostname", key: "/etc/hostname")
        let error = await #expect(throws: ProviderError.self) { try await LocalProvider.start(configuration) }
        #expect(error.map { "\($0)".contains("/etc/hostname") } == true)
    }

    @Test func `the command serves https with the certificate that it is given`() async throws {
        try await withCertificate { files in
            let child = try CommandTests.Child(["--certificate", files.certificate, "--key", files.key])
            let issuer = String(child.firstLine().dropLast())
            let port = try #require(Int(issuer.dropFirst("https://127.0.0.1:".count)), "\(issuer)")
            let url = issuer + "/.well-known/openid-configuration"
            let response = try await get(url, at: port, files)
            #expect(response.status == 200 && response.json?["issuer"]?.string == issuer)
        }
    }

    @Test(arguments: ["--certificate", "--key"])
    func `the command needs a certificate and its key`(option: String) throws {
        let child = try CommandTests.Child([option, "/etc/hostname"])
        #expect(child.end() == 2)
    }

    private func withTLSProvider(_ test: (LocalProvider, TLSFiles) async throws -> Void) async throws {
        try await withCertificate { files in
            var configuration = LocalProvider.Configuration.demo
            configuration.tls = files
            try await withLocalProvider(configuration) { try await test($0, files) }
        }
    }

    /// One request whose connection the server closes.
    private func get(
        _ endpoint: Endpoint, of provider: LocalProvider, _ files: TLSFiles, showing client: TLSFiles? = nil
    ) async throws -> Wire.Response {
        try await get(provider.url(endpoint), at: provider.port, files, showing: client)
    }

    private func get(
        _ url: String, at port: Int, _ files: TLSFiles, showing client: TLSFiles? = nil
    ) async throws -> Wire.Response {
        let authority = "127.0.0.1:\(port)"
        let path = url.dropFirst("https://\(authority)".count)
        let certificate = client.map { ["-cert", $0.certificate, "-key", $0.key] } ?? []
        let bytes = try await openssl(
            ["s_client", "-quiet", "-verify_return_error", "-CAfile", files.certificate, "-connect", authority]
                + certificate,
            input: "GET \(path) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n\r\n")
        return Wire.Response(bytes: bytes, end: .closed)
    }

    /// Runs the `openssl` command on a thread of its own, so that the provider has all of Swift's.
    private func openssl(_ arguments: [String], input: String = "") async throws -> [UInt8] {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let process = Process()
                        process.executableURL = URL(filePath: "/usr/bin/env")
                        process.arguments = ["openssl"] + arguments
                        let (source, output) = (Pipe.exclusive(), Pipe.exclusive())
                        (process.standardInput, process.standardOutput) = (source, output)
                        process.standardError = FileHandle.nullDevice
                        try process.run()
                        try source.fileHandleForWriting.write(contentsOf: Data(input.utf8))
                        try source.fileHandleForWriting.close()
                        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
                        process.waitUntilExit()
                        return Array(bytes)
                    })
            }
        }
    }
}
