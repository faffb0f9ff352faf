import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// Which files and folders are taken, without a connection.
struct TrustRootsTests {
    let directory: URL
    let one: String
    let two: String
    let none = { (_: String) in nil as String? }

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "appauth-roots-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        (one, two) = (directory.appending(path: "one.pem").path, directory.appending(path: "two.pem").path)
        for path in [one, two] { try TrustRootsTests.pem(path).write(toFile: path, atomically: true, encoding: .utf8) }
    }

    @Test func `a system with hashed names is read by name`() throws {
        defer { remove() }
        let hashed = try folder(hashedNames: 20)
        #expect(
            try TrustRoots.find(.init(), environment: none, builtIn: (one, nil), hashedDirectories: ["/none", hashed])
                == .chosen(file: nil, bundle: nil, directory: hashed, fallback: one))
    }

    @Test func `a folder with a few hashed names is not the system's`() throws {
        defer { remove() }
        let hashed = try folder(hashedNames: 3)
        #expect(
            try TrustRoots.find(.init(), environment: none, builtIn: (one, nil), hashedDirectories: [hashed])
                == .builtIn)
    }

    @Test func `additional roots are used beside the hashed names`() throws {
        defer { remove() }
        let hashed = try folder(hashedNames: 20)
        let configuration = CurlTransport.Configuration(additionalRoots: [two])
        #expect(
            try TrustRoots.find(configuration, environment: none, builtIn: (one, nil), hashedDirectories: [hashed])
                == .chosen(file: two, bundle: nil, directory: hashed, fallback: one))
    }

    @Test func `additional roots are joined to libcurl's built-in ones`() throws {
        defer { remove() }
        let configuration = CurlTransport.Configuration(additionalRoots: [two])
        let bundle = Array((TrustRootsTests.pem(one) + "\n" + TrustRootsTests.pem(two) + "\n").utf8)
        #expect(
            try TrustRoots.find(configuration, environment: none, builtIn: (one, "/built/in"), hashedDirectories: [])
                == .chosen(file: nil, bundle: bundle, directory: "/built/in"))
    }

    @Test func `the environment replaces the system's roots, CURL_CA_BUNDLE first`() throws {
        defer { remove() }
        let hashed = try folder(hashedNames: 20)
        var variables = ["CURL_CA_BUNDLE": one, "SSL_CERT_FILE": two]
        func found() throws -> TrustRoots {
            try TrustRoots.find(
                .init(), environment: { variables[$0] }, builtIn: (nil, nil), hashedDirectories: [hashed])
        }
        #expect(try found() == .chosen(file: one, bundle: nil, directory: nil))
        variables["CURL_CA_BUNDLE"] = ""
        #expect(try found() == .chosen(file: two, bundle: nil, directory: nil))
        variables["SSL_CERT_DIR"] = directory.path
        #expect(try found() == .chosen(file: two, bundle: nil, directory: directory.path))
    }

    @Test func `SSL_CERT_DIR may name the system's own folder`() throws {
        defer { remove() }
        let hashed = try folder(hashedNames: 20)
        for (named, fallback) in [(hashed, one), (directory.path, nil)] {
            let found = try TrustRoots.find(
                .init(), environment: { $0 == "SSL_CERT_DIR" ? named : nil }, builtIn: (one, nil),
                hashedDirectories: [hashed])
            #expect(found == .chosen(file: nil, bundle: nil, directory: named, fallback: fallback))
        }
    }

    @Test func `roots of the configuration ignore the environment`() throws {
        defer { remove() }
        let roots = try TrustRoots.find(
            .init(roots: .files([one])), environment: { _ in two }, builtIn: (two, nil), hashedDirectories: [])
        #expect(roots == .chosen(file: one, bundle: nil, directory: nil))
    }

    @Test func `a file that is missing or holds no certificate is named`() throws {
        defer { remove() }
        let (missing, empty) = (directory.appending(path: "missing").path, directory.appending(path: "empty").path)
        try "-----BEGIN PRIVATE KEY-----\n".write(toFile: empty, atomically: true, encoding: .utf8)
        for (path, problem) in [(missing, "No such file"), (empty, "found none"), (directory.path, "found a folder")] {
            let configurations: [(CurlTransport.Configuration, [String: String], String)] = [
                (.init(additionalRoots: [one, path]), [:], "additional"),
                (.init(roots: .files([path])), [:], "configuration"),
                (.init(), ["CURL_CA_BUNDLE": path], "CURL_CA_BUNDLE"),
                (.init(), ["SSL_CERT_FILE": path], "SSL_CERT_FILE"),
            ]
            for (configuration, variables, source) in configurations {
                let error = #expect(throws: AuthError.self) {
                    try TrustRoots.find(configuration, environment: { variables[$0] }, builtIn: (nil, nil))
                }
                #expect(error?.code == .invalidConfiguration)
                #expect(error?.outcome == .notSent)
                for part in [path, problem, source] { #expect(error?.message.contains(part) == true) }
            }
        }
    }

    @Test func `a folder that does not exist is named`() throws {
        defer { remove() }
        let error = #expect(throws: AuthError.self) {
            try TrustRoots.find(
                .init(), environment: { $0 == "SSL_CERT_DIR" ? "/does/not/exist" : nil }, builtIn: (nil, nil))
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("/does/not/exist (SSL_CERT_DIR)") == true)
    }

    @Test func `no roots at all is an error`() throws {
        defer { remove() }
        let error = #expect(throws: AuthError.self) {
            try TrustRoots.find(.init(roots: .files([])), environment: none, builtIn: (one, nil))
        }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a file whose certificate is damaged is refused when it is used`() async throws {
        defer { remove() }
        let server = try RawServer { $0.waitForEnd() }
        var request = server.get()
        request.head.scheme = "https"
        let transport = CurlTransport(.init(roots: .files([one]), proxy: .none))
        let error = await authError { [request] in try await transport.send(request) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.hasPrefix("the trusted certificates could not be loaded: ") == true)
    }

    /// A text that looks like a certificate and is none.
    private static func pem(_ text: String) -> String {
        "-----BEGIN CERTIFICATE-----\n\(Data(text.utf8).base64EncodedString())\n-----END CERTIFICATE-----\n"
    }

    private func folder(hashedNames count: Int) throws -> String {
        let folder = directory.appending(path: "hashed")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for number in 0..<count {
            let name = "0000000" + String(number, radix: 16)
            try Data().write(to: folder.appending(path: name.suffix(8) + ".0"))
        }
        for name in ["ca-certificates.crt", "0123456g.0", "01234567.r0", "01234567"] {
            try Data().write(to: folder.appending(path: name))
        }
        return folder.path
    }

    private func remove() { try? FileManager.default.removeItem(at: directory) }
}
