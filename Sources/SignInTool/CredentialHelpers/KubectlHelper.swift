internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in helper kubectl`, a client-go credential plugin.
struct KubectlHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        commandName: "kubectl", abstract: "Gives the ID token to kubectl, as an ExecCredential.",
        discussion: """
            Example: kubectl config set-credentials work --exec-api-version=client.authentication.k8s.io/v1 \
            --exec-interactive-mode=Never --exec-command=sign-in --exec-arg=helper --exec-arg=kubectl \
            --exec-arg=--profile=work
            """)

    @OptionGroup var session: NamedSessionOptions
    @OptionGroup var common: CommonOptions

    private static let versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]

    func respond(_ session: SessionOptions, _ console: Console, limit: Duration) async throws -> Int32 {
        let version = try Self.version()
        let (token, expiry) = try await session.withState(console, within: limit) { state in
            let deadline = ContinuousClock.now + limit
            let token = try await state.patiently(forceRefresh: false, until: deadline, console) { _ in
                try await state.freshIDToken()
            }
            return (token, await state.record.expiry(of: token))
        }
        let credential: JSON = [
            "apiVersion": .string(version), "kind": "ExecCredential",
            "status": [
                "token": .string(token.rawValue.reveal()),
                "expirationTimestamp": .string(expiry.ISO8601Format()),
            ],
        ]
        try console.print(Array((credential.serialized() + "\n").utf8))
        return 0
    }

    /// Returns the version that kubectl asks for, which the credential must have.
    private static func version() throws -> String {
        guard let text = variable("KUBERNETES_EXEC_INFO") else { return versions[0] }
        let version = (try? JSON(parsing: Array(text.utf8)))?["apiVersion"]?.string
        guard let version, versions.contains(version) else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "KUBERNETES_EXEC_INFO: expected the apiVersion \(versions.joined(separator: " or ")), found "
                    + (version ?? "none"))
        }
        return version
    }
}
