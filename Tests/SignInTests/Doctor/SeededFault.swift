import AppAuth
import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// A set-up with one fault, and what `sign-in doctor` has to call it.
struct SeededFault: Sendable, CustomTestStringConvertible {
    /// The names of the findings, in order.
    let findings: [String]
    /// Whether a sign-in works nevertheless.
    var isHarmless = false
    var provider = LocalProvider.Configuration.demo
    /// Whether the provider uses https, with a certificate of its own.
    var isSecure = false
    /// Whether that certificate has expired.
    var isExpired = false
    /// Adds the fault, and examines the set-up while it has it.
    let seed: @Sendable (SeededSetUp) async throws -> Void

    var testDescription: String { findings.joined(separator: ", ") }

    init(
        _ findings: String..., isHarmless: Bool = false, isSecure: Bool = false, isExpired: Bool = false,
        provider change: (inout LocalProvider.Configuration) -> Void = { _ in },
        seed: @escaping @Sendable (SeededSetUp) async throws -> Void
    ) {
        (self.findings, self.isHarmless, self.seed) = (findings, isHarmless, seed)
        (self.isSecure, self.isExpired) = (isSecure || isExpired, isExpired)
        change(&provider)
    }

    func run() async throws {
        guard isSecure else { return try await run(provider, certificate: nil) }
        try await withCertificate { files in
            var provider = provider
            if isExpired { try await Self.expire(files) }
            provider.tls = files
            try await run(provider, certificate: files.certificate)
        }
    }

    /// Signs the certificate again, until yesterday.
    private static func expire(_ files: TLSFiles) async throws {
        let script = #"openssl x509 -in "$0" -signkey "$1" -days -1 -out "$0.new" && mv "$0.new" "$0""#
        let words = ["sh", "-c", script, files.certificate, files.key]
        let outcome = try await ChildProcess(words, environment: ["PATH": "/usr/bin:/bin"]).outcome()
        try #require(outcome.status == 0, "\(outcome)")
    }

    private func run(_ provider: LocalProvider.Configuration, certificate: String?) async throws {
        try await withDesk(provider) { fixture in
            try await seed(SeededSetUp(fixture: fixture, fault: self, certificate: certificate))
        }
    }
}

struct SeededSetUp: Sendable {
    let fixture: CommandFixture
    let fault: SeededFault
    let certificate: String?

    /// Runs the command with further options, of which the last counts, and checks what it has found.
    func examine(
        _ options: String..., in variables: [String: String?] = [:], through prefix: [String] = []
    ) async throws {
        let line = ["doctor", "--json", "--issuer", fixture.issuer, "--client-id", "demo"] + options
        let outcome = try await fixture.start(prefix + [BuiltProducts.path("sign-in")], line, variables).outcome()
        let result = try outcome.json()
        let names = result["findings"]?.array?.compactMap { $0["name"]?.string }
        #expect(names == fault.findings, "\(outcome)")
        let isWell = fault.findings.isEmpty || fault.isHarmless
        // Each failure is in the line of a check.
        let failed = result["checks"]?.array?.filter { $0["outcome"] == "failure" } ?? []
        let found = failed.flatMap { $0["findings"]?.strings ?? [] }
        let failures = result["findings"]?.array?.filter { $0["severity"] == "failure" } ?? []
        #expect(failures.allSatisfy { found.contains($0["name"]?.string ?? "") }, "\(outcome)")
        #expect(outcome.status == (isWell ? 0 : 1) && result["ok"]?.bool == isWell, "\(outcome)")
        for finding in result["findings"]?.array ?? [] {
            #expect(finding["seen"]?.string?.isEmpty == false && finding["remedy"]?.string?.isEmpty == false)
        }
    }

    /// Writes a file, and returns its path.
    func file(_ name: String, _ contents: String) throws -> String {
        let path = "\(fixture.home)/\(name)"
        try contents.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    func edit(_ edit: @escaping @Sendable (inout JSON.Object) -> Void) {
        for endpoint in [LocalProvider.Endpoint.openIDConfiguration, .oauthMetadata] {
            fixture.provider.fault(.editDocument(edit), at: endpoint, times: nil)
        }
    }
}
