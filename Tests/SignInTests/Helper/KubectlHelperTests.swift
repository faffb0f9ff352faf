import AppAuth
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
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
            try await fixture.signIn(profile: "work")
            let token = try await fixture.run("token", "--id-token", "--json").result()
            let credential = try await fixture.run("helper", "kubectl", "--profile", "work", with: environment).result()
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
            try await fixture.signIn(profile: "work")
            let outcome = try await fixture.run("helper", "kubectl", "--profile", "work", with: Self.info(version))
            #expect(outcome.status == 1 && outcome.output.isEmpty && outcome.errorLines.count == 1, "\(outcome)")
            #expect(outcome.errors.contains("found \(version)\n"), "\(outcome)")
        }
    }

    @Test(.enabled(if: kubectlIsInstalled))
    func `kubectl gets what the user of the ID token may see`() async throws {
        try await withCluster { kubectl in
            let outcome = try await kubectl.namespaces()
            #expect(outcome.output == "namespace/\(LocalProvider.User.alice.subject)\n", "\(outcome)")
        }
    }

    @Test(.enabled(if: kubectlIsInstalled))
    func `an API for another client refuses the ID token`() async throws {
        try await withCluster(for: "another") { kubectl in
            let outcome = try await kubectl.namespaces()
            #expect(outcome.isUnauthorized, "\(outcome)")
        }
    }

    @Test(.enabled(if: kubectlIsInstalled))
    func `an ID token that has expired is renewed for the next command of kubectl`() async throws {
        // Within the leeway of sign-in; the API has none.
        let expired = Fault.editIDToken { $0.claims["exp"] = .number(.init(Int(Date().timeIntervalSince1970) - 30)) }
        try await withCluster(login: expired) { kubectl in
            let (provider, sessions) = (kubectl.fixture.provider, kubectl.fixture.sessions)
            let stored = try Data(contentsOf: URL(filePath: sessions + "/work.json"))
            let record = try AuthStateRecord(decoding: Array(stored), from: sessions)
            let refused = try await kubectl.namespaces(token: #require(record.idToken?.rawValue.reveal()))
            #expect(refused.isUnauthorized && provider.count(.token) == 1, "\(refused)")
            let outcome = try await kubectl.namespaces()
            #expect(outcome.status == 0 && provider.count(.token) == 2, "\(outcome)")
        }
    }

    private static let kubectlIsInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/kubectl")

    /// Signs in with the profile `work`, and starts a cluster that kubectl uses with `sign-in helper kubectl`.
    ///
    /// - Parameters:
    ///   - clientID: The client for which the cluster accepts ID tokens.
    ///   - fault: A fault of the sign-in.
    private func withCluster(
        for clientID: String = "demo", login fault: Fault? = nil, _ test: (Kubectl) async throws -> Void
    ) async throws {
        try await withDesk { fixture in
            if let fault { fixture.provider.fault(fault, at: .token) }
            try await fixture.signIn(profile: "work")
            let api = try await KubernetesAPI(issuer: fixture.issuer, clientID: clientID)
            try await withHTTPSServer {
                await api.respond(to: $0)
            } _: { server, certificate in
                let kubectl = Kubectl(fixture: fixture, server: server.origin, certificate: certificate)
                try await kubectl.configure()
                try await test(kubectl)
            }
        }
    }
}

/// kubectl with a configuration of its own, for one cluster.
private struct Kubectl {
    let fixture: CommandFixture
    let server: String
    let certificate: String

    /// - Parameter token: The token to send; nil for that of the helper.
    func namespaces(token: String? = nil) async throws -> Outcome {
        let command = ["get", "namespaces", "--output=name"]
        guard let token else { return try await run(command, kubeconfig: fixture.home + "/kubeconfig") }
        return try await run(
            command + ["--server=\(server)", "--certificate-authority=\(certificate)", "--token=\(token)"])
    }

    /// Names the cluster, and the helper as the source of its credentials.
    func configure() async throws {
        // Debian 12 has kubectl 1.20, which knows only v1beta1. Its own `config` crashes.
        let help = try await run(["config", "set-credentials", "--help"]).output
        let version = help.contains("--exec-interactive-mode") ? "v1" : "v1beta1"
        let helper: JSON = [
            "apiVersion": .string("client.authentication.k8s.io/\(version)"), "interactiveMode": "Never",
            "command": "sign-in", "args": ["helper", "kubectl", "--profile=work"],
        ]
        let cluster: JSON = ["server": .string(server), "certificate-authority": .string(certificate)]
        let configuration: JSON = [
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [["name": "test", "cluster": cluster]], "users": [["name": "work", "user": ["exec": helper]]],
            "contexts": [["name": "test", "context": ["cluster": "test", "user": "work"]]],
        ]
        try configuration.serialized().write(
            toFile: fixture.home + "/kubeconfig", atomically: true, encoding: .utf8)
    }

    private func run(_ words: [String], kubeconfig: String = "/dev/null") async throws -> Outcome {
        try await ChildProcess(["kubectl", "--kubeconfig", kubeconfig] + words, environment: fixture.environment)
            .outcome()
    }
}

extension Outcome {
    /// Whether kubectl reports a 401. Its versions differ in the words that follow.
    fileprivate var isUnauthorized: Bool { status == 1 && errors.contains("You must be logged in to the server") }
}
