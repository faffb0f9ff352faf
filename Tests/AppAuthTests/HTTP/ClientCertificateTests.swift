import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// RFC 8705: a certificate on the connection itself.
@Suite(.timeLimit(.minutes(1)))
struct ClientCertificateTests {
    private let authority: TestAuthority
    /// Accepts only connections with a certificate of its authority.
    private let server: TLSServer

    init() throws {
        authority = try TestAuthority()
        server = try TLSServer(
            authority.issue("IP:127.0.0.1"), "-Verify", "1", "-verify_return_error", "-CAfile", authority.root)
    }

    @Test func `a server that wants a certificate is shown it`() async throws {
        let leaf = try authority.issue("DNS:client")
        let response = try await send(ClientCertificate(file: "\(leaf).pem", keyFile: "\(leaf).key"))
        #expect(response.status == .ok)
        #expect(String(decoding: response.body, as: UTF8.self).contains("Client certificate"))
    }

    @Test func `certificate and key may be in one file`() async throws {
        let leaf = try authority.issue("DNS:client")
        let both =
            try String(contentsOfFile: "\(leaf).pem", encoding: .utf8)
            + String(contentsOfFile: "\(leaf).key", encoding: .utf8)
        try both.write(toFile: "\(leaf)-both.pem", atomically: true, encoding: .utf8)
        #expect(try await send(ClientCertificate(file: "\(leaf)-both.pem")).status == .ok)
    }

    @Test func `an encrypted key needs its passphrase, and the terminal is not asked`() async throws {
        let leaf = try authority.issue("DNS:client")
        try run(
            "openssl", "pkcs8", "-topk8", "-in", "\(leaf).key", "-passout", "pass:open sesame", "-out", "\(leaf).enc")
        func certificate(_ passphrase: String?) -> ClientCertificate {
            ClientCertificate(file: "\(leaf).pem", keyFile: "\(leaf).enc", passphrase: passphrase.map { Secret($0) })
        }
        #expect(try await send(certificate("open sesame")).status == .ok)
        for wrong in ["open", nil] {
            let error = await authError { try await send(certificate(wrong)) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.outcome == .notSent)
            #expect(error?.message.contains("sesame") == false)
        }
    }

    @Test func `without the certificate that it wants, a server gives no response`() async throws {
        let stranger = try TestAuthority()
        let leaf = try stranger.issue("DNS:client")
        let strange = await authError { try await send(ClientCertificate(file: "\(leaf).pem", keyFile: "\(leaf).key")) }
        #expect(strange?.code == .transport)
        #expect(await authError { try await send(nil) }?.code == .transport)
    }

    @Test func `a file that is missing is named`() async throws {
        let error = await authError { try await send(ClientCertificate(file: "/nowhere/client.pem")) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("/nowhere/client.pem") == true)
    }

    private func send(_ certificate: ClientCertificate?) async throws -> TransportResponse {
        let transport = CurlTransport(
            .init(additionalRoots: [authority.root], clientCertificate: certificate, proxy: .none))
        return try await transport.send(get(server))
    }

    private func get(_ server: TLSServer) -> TransportRequest {
        TransportRequest(HTTPRequest(method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/"))
    }
}
