import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// `sign-in helper kubectl`, by itself and called by kubectl.
@Suite(.timeLimit(.minutes(5)))
struct KubectlHelperTests {
    private static func info(_ version: String) -> [String: String?] {
        ["KUBERNETES_EXEC_INFO": #"{"apiVersion":"\#(version)","kind":"ExecCredential","spec":{"interactive":false}}"#]
    }

    @Test(arguments: [
        ([:], "client.authentication.k8s.io/v1"),
        (info("client.authentication.k8s.io/v1"), "client.authentication.k8s.io/v1"),
        (info("client.authentication.k8s.io/v1beta1"), "client.authentication.k8s.io/v1beta1"),
    ])
    func `the credential has the version that kubectl asks for`(
        environment: [String: String?], version: String
    ) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let token = try await fixture.run("token", "--id-token", "--json").result()
            let credential = try await fixture.run("helper", "kubectl", with: environment).result()
            let expected: JSON = [
                "apiVersion": .string(version), "kind": "ExecCredential",
                "status": ["token": token["id_token"] ?? .null, "expirationTimestamp": token["expires_at"] ?? .null],
            ]
            #expect(credential == expected)
        }
    }

    @Test(arguments: ["client.authentication.k8s.io/v1alpha1", ""])
    func `another version is refused, and named`(version: String) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let outcome = try await fixture.run("helper", "kubectl", with: Self.info(version))
            #expect(outcome.status == 1 && outcome.output.isEmpty && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("found \(version)\n"), "\(outcome)")
        }
    }

    /// kubectl sends credentials only over TLS, so the second provider is its server.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/kubectl")))
    func `kubectl sends the ID token to its server`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let token = try await fixture.run("token", "--id-token").output.dropLast()
            let files = TLSFiles(certificate: fixture.home + "/cert.pem", key: fixture.home + "/key.pem")
            let made = try await fixture.start(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
                [
                    "-keyout", files.key, "-out", files.certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost",
                ]
            ).outcome()
            try #require(made.status == 0, "\(made)")
            var configuration = LocalProvider.Configuration.demo
            configuration.tls = files
            try await withLocalProvider(configuration) { server in
                func kubectl(_ words: String...) async throws -> Outcome { try await kubectl(words) }
                func kubectl(_ words: [String]) async throws -> Outcome {
                    let options = ["--kubeconfig", "\(fixture.home)/kubeconfig"]
                    return try await ChildProcess(["kubectl"] + options + words, environment: fixture.environment)
                        .outcome()
                }
                _ = try await kubectl(
                    "config", "set-cluster", "test", "--server=https://127.0.0.1:\(server.port)",
                    "--tls-server-name=localhost", "--certificate-authority=\(files.certificate)")
                // Debian 12 has kubectl 1.20, which knows only v1beta1.
                let help = try await kubectl("config", "set-credentials", "--help").output
                let plugin =
                    help.contains("--exec-interactive-mode")
                    ? ["--exec-interactive-mode=Never", "--exec-api-version=client.authentication.k8s.io/v1"]
                    : ["--exec-api-version=client.authentication.k8s.io/v1beta1"]
                _ = try await kubectl(
                    ["config", "set-credentials", "work", "--exec-command=sign-in"] + plugin
                        + ["--exec-arg=helper", "--exec-arg=kubectl", "--exec-arg=--profile=work"])
                _ = try await kubectl("config", "set-context", "test", "--cluster=test", "--user=work")
                let path = try #require(URL(string: server.url(.api))?.path)
                // The provider's API takes no ID token, so only the request counts.
                let outcome = try await kubectl("--context", "test", "get", "--raw", path)
                let sent = server.log(.api).first?.headers[.authorization]
                #expect(sent == "Bearer \(token)", "\(outcome)")
            }
        }
    }
}
