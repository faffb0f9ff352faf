internal import AppAuth
internal import ArgumentParser

/// The command `sign-in client-credentials`.
struct ClientCredentials: Command {
    static let configuration = CommandConfiguration(
        commandName: "client-credentials",
        abstract: "Prints an access token for the client itself (RFC 6749, section 4.4).",
        discussion: """
            Example: sign-in client-credentials --issuer https://accounts.example.org --client-id my-service \
            --client-key key.pem
            """)

    @Option(parsing: .unconditional, help: "The provider’s issuer URL.")
    var issuer: String?
    @OptionGroup var metadata: MetadataOptions
    @Option(
        name: .customLong("token-endpoint"), parsing: .unconditional,
        help: "The URL of the token endpoint, for a server without discovery.")
    var tokenEndpoint: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String
    @OptionGroup var client: ClientOptions
    @Option(
        name: .customLong("jwt-bearer-file"), parsing: .unconditional,
        help: """
            A file with a JWT of another issuer, for example of this workload, which the provider trusts: it is the grant \
            (RFC 7523), and the client needs no credentials. It is sent once.
            """, completion: .file())
    var assertionFile: String?
    @Option(parsing: .unconditional, help: "The scopes to request, separated by spaces.")
    var scope = ""
    @Option(parsing: .unconditionalSingleValue, help: "The resource that the access token is for (RFC 8707).")
    var resource: [String] = []
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if (issuer == nil) == (tokenEndpoint == nil) {
            throw ValidationError("expected either --issuer or --token-endpoint")
        }
        if metadata.url != nil, issuer == nil { throw ValidationError("--metadata-url needs --issuer") }
        if clientID.isEmpty { throw ValidationError("--client-id: expected a client id, found nothing") }
        // RFC 6749 §4.4: only for confidential clients.
        if client.secretFile == nil, client.keyFile == nil, client.assertionFile == nil, assertionFile == nil {
            throw ValidationError(
                "expected --client-secret-file, --client-key, --client-assertion-file or --jwt-bearer-file")
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let client = try await client.configuration(
            clientID, at: ProviderPreset(issuer: issuer, tokenEndpoint: tokenEndpoint), metadata.url,
            in: console.environment
        ).client()
        console.advice.note(client.authentication, at: client.provider)
        let scope = [Scope](spaceDelimited: scope)
        let grant =
            if let assertionFile {
                try TokenGrant.jwtBearer(assertionNamed: assertionFile, scope: scope, resources: resource)
            } else { try TokenGrant.clientCredentials(scope: scope, resources: resource) }
        let state = try await AuthState.present(
            grant, as: client, store: MemoryTokenStore(), environment: console.environment)
        let (token, record) = (try await state.freshAccessToken(), await state.record)
        try console.succeed(Token.result(token, record), text: token.value.reveal())
        return 0
    }
}
