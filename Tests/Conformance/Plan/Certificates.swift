import AppAuth
import Foundation
import AppAuthTestProvider

/// Self-signed certificates of a provider on loopback and of two clients, made by the `openssl` command in a folder that is
/// removed in the end.
final class Certificates: Sendable {
    /// The provider's.
    let provider: TLSFiles
    /// The certificate of the relying party.
    let client: ClientCertificate
    /// Another one, which the client's tokens are not bound to.
    let other: ClientCertificate
    private let folder: URL

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "appauth-conformance-\(UUID().uuidString)")
        self.folder = folder
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        func file(_ name: String) -> String { folder.appending(path: name).path }
        for (name, subject) in [
            ("provider", "IP:127.0.0.1,DNS:localhost"), ("client", "DNS:client"), ("other", "DNS:other"),
        ] {
            let openssl = Process()
            openssl.executableURL = URL(filePath: "/usr/bin/env")
            openssl.arguments = [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                "2",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=\(subject)", "-keyout", file("\(name).key"), "-out",
                file("\(name).pem"),
            ]
            (openssl.standardOutput, openssl.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            try openssl.run()
            openssl.waitUntilExit()
            guard openssl.terminationStatus == 0 else { throw Failure(certificate: name) }
        }
        provider = TLSFiles(certificate: file("provider.pem"), key: file("provider.key"))
        client = ClientCertificate(file: file("client.pem"), keyFile: file("client.key"))
        other = ClientCertificate(file: file("other.pem"), keyFile: file("other.key"))
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// HTTP that trusts the provider and shows a certificate, or none.
    func transport(showing certificate: ClientCertificate?) -> CurlTransport {
        CurlTransport(.init(additionalRoots: [provider.certificate], clientCertificate: certificate))
    }

    struct Failure: Error { let certificate: String }
}

extension ClientCertificate {
    /// The certificate in DER.
    var der: [UInt8] {
        get throws {
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            let body = lines.filter { !$0.hasPrefix("-----") }.joined()
            return Array(Data(base64Encoded: body) ?? Data())
        }
    }
}
