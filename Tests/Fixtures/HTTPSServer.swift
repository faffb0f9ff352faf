package import AppAuthTestProvider
internal import Foundation

/// Runs a test with an HTTPS server of its own on 127.0.0.1, and stops it at the end.
///
/// - Parameter test: The test; its second argument is the path of the server's certificate.
package func withHTTPSServer(
    _ respond: @escaping @Sendable (Request) async throws -> Reply,
    _ test: (DoubleServer, String) async throws -> Void
) async throws {
    try await withCertificate { files in
        var options = DoubleOptions()
        options.tls = files
        let server = try await DoubleServer.start(options, MovableClock { Date() }) { request, _ in
            try await respond(request)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await test(server, files.certificate)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }
}

/// Runs a test with a self-signed certificate for localhost, 127.0.0.1 and 0.0.0.0, and removes it afterwards.
package func withCertificate(_ test: (TLSFiles) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "certificate-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let files = TLSFiles(certificate: folder + "/cert.pem", key: folder + "/key.pem")
    // Foundation's Process can crash if many descriptors are open (swift-corelibs-foundation, pull request 5472).
    let status = system(
        """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1,IP:0.0.0.0 \
        -keyout '\(files.key)' -out '\(files.certificate)' 2>/dev/null
        """)
    guard status == 0 else { throw CocoaError(.executableLoad) }
    try await test(files)
}
