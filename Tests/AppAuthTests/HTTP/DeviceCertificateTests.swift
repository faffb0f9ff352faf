import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import SoftwareTPM
import TestFixtures
import Testing

/// RFC 8705 with a key in a TPM. Each test is a process of its own, since all of a process has one environment.
@Suite(.timeLimit(.minutes(5)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct DeviceCertificateTests {
    /// Runs the body with a server that accepts only the certificates of two keys, at 0x81000001 without and at 0x81000002 with
    /// the PIN 1234. `send` returns the server's page, which names the certificate.
    private static func withServer(
        _ body: (
            SoftwareTPM, _ folder: String, _ send: @Sendable (CurlTransport) async throws -> String, _ root: String
        ) async throws -> Void
    ) async {
        await SoftwareTPM.use { tpm in
            let authority = try TestAuthority()
            let folder = authority.directory.path
            try tpm.makeKeys([("0x81000001", ""), ("0x81000002", "1234")], in: folder)
            try tpm.run(
                "sh", "-ec",
                """
                cd \(folder)
                for key in 0x81000001 0x81000002; do
                    openssl x509 -new -force_pubkey $key.pem -CA ca.pem -CAkey ca.key -subj /CN=key-$key -days 2 -out $key.crt
                done
                """)
            let server = try TLSServer(
                authority.issue("IP:127.0.0.1"), "-Verify", "1", "-verify_return_error", "-CAfile", authority.root)
            try await body(
                tpm, folder,
                { transport in
                    let request = HTTPRequest(
                        method: .get, scheme: "https", authority: "127.0.0.1:\(server.port)", path: "/")
                    return String(decoding: try await transport.send(TransportRequest(request)).body, as: UTF8.self)
                }, authority.root)
            withExtendedLifetime(authority) {}
        }
    }

    private static func transport(_ certificate: ClientCertificate, root: String) -> CurlTransport {
        CurlTransport(.init(additionalRoots: [root], clientCertificate: certificate, proxy: .none))
    }

    @Test func `a URI or a wrapped key in a file authenticates the client, with its PIN if it has one`() async {
        await #expect(processExitsWith: .success) {
            await Self.withServer { tpm, folder, send, root in
                try tpm.run(
                    "sh", "-ec",
                    """
                    cd \(folder)
                    openssl genpkey -provider tpm2 -algorithm EC -pkeyopt group:P-256 -out wrapped.pem
                    openssl pkey -provider tpm2 -provider base -in wrapped.pem -pubout -out wrapped.pub
                    openssl x509 -new -force_pubkey wrapped.pub -CA ca.pem -CAkey ca.key -subj /CN=key-wrapped -days 2 \\
                        -out wrapped.crt
                    """)
                for (name, key, pin) in [
                    ("0x81000001", "handle:0x81000001", nil), ("0x81000002", "handle:0x81000002", "1234"),
                    ("wrapped", folder + "/wrapped.pem", nil),
                ] {
                    let certificate = ClientCertificate(
                        file: "\(folder)/\(name).crt", keyFile: key, passphrase: pin.map { Secret($0) })
                    let transport = Self.transport(certificate, root: root)
                    for _ in 0..<2 { try #require(try await send(transport).contains("CN=key-\(name)")) }
                }
                try #require(try tpm.wrongPINs() == "0x0")
            }
        }
    }

    @Test func `a wrong PIN is tried once, and a certificate for another key is refused`() async {
        await #expect(processExitsWith: .success) {
            await Self.withServer { tpm, folder, send, root in
                func certificate(_ name: String, _ pin: String) -> ClientCertificate {
                    ClientCertificate(
                        file: "\(folder)/\(name).crt", keyFile: "handle:0x81000002", passphrase: Secret(pin))
                }
                let transport = Self.transport(certificate("0x81000002", "4321"), root: root)
                for _ in 0..<3 {
                    let error = await authError { try await send(transport) }
                    try #require(error?.code == .invalidConfiguration && error?.outcome == .notSent)
                    try #require(error?.message.contains("PIN may be wrong") == true, "\(String(describing: error))")
                }
                try #require(try tpm.wrongPINs() == "0x1")
                let other = Self.transport(certificate("0x81000001", "1234"), root: root)
                let message = await authError { try await send(other) }?.message ?? ""
                try #require(message.contains("with the certificate of the key"), "\(message)")
            }
        }
    }
}
