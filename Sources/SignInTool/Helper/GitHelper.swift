internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in helper git`, see gitcredentials(7).
struct GitHelper: CredentialHelper {
    static let configuration = CommandConfiguration(
        commandName: "git", abstract: "Gives git the token as the password of a server.",
        discussion: """
            Example: git config --global credential.https://git.example.org.helper ''
            git config --global --add credential.https://git.example.org.helper \\
              '!sign-in helper git --host git.example.org --profile work'
            The empty value keeps git's other helpers from storing the token.
            """)

    @OptionGroup var server: ServerOptions
    @OptionGroup var session: SessionOptions
    @OptionGroup var general: GeneralOptions
    @Argument(help: "get, store or erase. Git adds it.", completion: .list(["get", "store", "erase"]))
    var operation: String

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        // Git expects that other operations are ignored. The tokens are stored already.
        guard ["get", "erase"].contains(operation) else { return 0 }
        let request = GitCredential(try InputText.read())
        guard let host = request["host"], ["https", "http"].contains(request["protocol"]),
            server.mayGetToken(host, isEncrypted: request["protocol"] == "https")
        else { return 0 }
        if operation == "erase" {
            try await replace(request["password"], console, limit)
        } else {
            let token = try await session.bearerToken(console, within: limit)
            var response = GitCredential()
            response["username"] = request["username"] ?? server.username
            response["password"] = token.value.reveal()
            response["password_expiry_utc"] = token.expiresAt.map { "\(Int($0.timeIntervalSince1970))" }
            try console.print(Array(response.text.utf8))
        }
        return 0
    }

    /// Refreshes the token that the server has rejected, unless another process has done so.
    private func replace(_ rejected: String?, _ console: Console, _ limit: Duration) async throws {
        try await session.withState(console, within: limit) { state in
            let token = try await state.freshAccessToken()
            guard let rejected, token.value == Secret(rejected) else { return }
            state.reject(token)
            _ = try await state.freshAccessToken()
        }
    }
}

/// The attributes that git and a helper exchange, one in each line as `name=value`.
struct GitCredential {
    private var attributes: [(name: String, value: String)] = []

    init() {}

    init(_ text: String) {
        for line in text.split(separator: "\n") {
            let name = line.prefix { $0 != "=" }
            guard name.endIndex < line.endIndex else { continue }
            attributes.append((String(name), String(line[line.index(after: name.endIndex)...])))
        }
    }

    /// The last value of an attribute.
    subscript(name: String) -> String? {
        get { attributes.last { $0.name == name }?.value }
        set { if let newValue { attributes.append((name, newValue)) } }
    }

    var text: String { attributes.map { "\($0.name)=\($0.value)\n" }.joined() }
}
