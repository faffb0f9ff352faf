internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials
internal import JOSE

/// The command `sign-in helper git`, see gitcredentials(7).
struct GitHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        commandName: "git", abstract: "Gives git the token as the password of a server.",
        discussion: """
            Example: git config --global credential.https://git.example.org.helper ''
            git config --global --add credential.https://git.example.org.helper \\
              '!sign-in helper git --host git.example.org --profile work'
            The empty value keeps git’s other helpers from storing the token.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: NamedSessionOptions
    @OptionGroup var common: CommonOptions
    @Argument(help: "get, store or erase. Git adds it.", completion: .list(["get", "store", "erase"]))
    var operation: String

    func respond(_ session: SessionOptions, _ console: Console, limit: Duration) async throws -> Int32 {
        // Git expects that other operations are ignored. The tokens are stored already.
        guard ["get", "erase"].contains(operation) else { return 0 }
        let request = try GitCredential(parsing: InputText.read())
        guard mayAnswer(request) else { return 0 }
        if operation == "erase" {
            guard let rejected = request["password"] ?? request["credential"] else { return 0 }
            try await replace(rejected, of: session, console, limit)
        } else {
            let url = try SecureURL("\(request["protocol"] ?? "")://\(request["host"] ?? "")")
            let token = try await ServerOptions.token(
                of: session, for: url.scheme == "https" ? nil : url, console, within: limit)
            var response = GitCredential()
            if request.isForBearer {
                (response["capability[]"], response["authtype"]) = ("authtype", "Bearer")
                response["credential"] = token.value.reveal()
            } else {
                response["username"] = request["username"] ?? server.username ?? ServerOptions.usualUsername
                response["password"] = token.value.reveal()
            }
            response["password_expiry_utc"] = token.expiresAt.map { "\(Int($0.timeIntervalSince1970))" }
            try console.print(Array(response.text.utf8))
        }
        return 0
    }

    /// Whether the request is for a named server, and for no other user than that of `--username`. Git asks the next
    /// helper if this one prints nothing. Without `--username`, any name that a URL has is right: servers that know the
    /// user by the token ignore it.
    private func mayAnswer(_ request: GitCredential) -> Bool {
        // The parts of `url` would take the place of those that git has sent. It sends none to helpers.
        guard request["url"] == nil, let host = request["host"], ["https", "http"].contains(request["protocol"]),
            server.mayGetToken(host, isEncrypted: request["protocol"] == "https")
        else { return false }
        guard let username = server.username, let asked = request["username"] else { return true }
        return asked.isExactly(username)
    }

    /// Refreshes the token that the server has rejected, unless another process has done so.
    private func replace(
        _ rejected: String, of session: SessionOptions, _ console: Console, _ limit: Duration
    ) async throws {
        try await session.withState(console, within: limit) { state in
            let token = try await state.freshAccessToken()
            guard token.value == Secret(rejected) else { return }
            state.reject(token)
            _ = try await state.freshAccessToken()
        }
    }
}
