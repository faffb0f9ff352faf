internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in exchange`.
struct Exchange: Command {
    static let configuration = CommandConfiguration(
        commandName: "exchange",
        abstract: "Exchanges a token of the stored session or from a file for another one (RFC 8693).",
        discussion: "Example: sign-in exchange --audience orders")

    /// The tokens of the stored session that can be exchanged.
    enum StoredKind: String, ExpressibleByArgument, CaseIterable, Sendable {
        case access_token, id_token
    }

    @OptionGroup var session: SessionOptions
    @Option(
        name: .customLong("subject-token-file"), parsing: .unconditional,
        help: "A file with the token. (default: the token of the session)", completion: .file())
    var subjectFile: String?
    @Option(
        name: .customLong("subject-token-type"), parsing: .unconditional,
        help: "The type of the token: access_token (the default), id_token, refresh_token, jwt, saml1, saml2 or a URI.")
    var subjectType: TokenTypeName?
    @Option(
        name: .customLong("actor-token-file"), parsing: .unconditional,
        help: "A file with a token of the party that acts for the subject.", completion: .file())
    var actorFile: String?
    @Option(name: .customLong("actor-token-type"), parsing: .unconditional, help: "The type of the actor token.")
    var actorType: TokenTypeName?
    @Option(
        name: .customLong("requested-token-type"), parsing: .unconditional, help: "The type of the new token.")
    var requestedType: TokenTypeName?
    @Option(parsing: .unconditionalSingleValue, help: "The service that the new token is for, by its name.")
    var audience: [String] = []
    @Option(parsing: .unconditionalSingleValue, help: "The service that the new token is for, by its URI (RFC 8707).")
    var resource: [String] = []
    @Option(parsing: .unconditional, help: "The scopes to request, separated by spaces.")
    var scope = ""
    @Option(
        name: .customLong("token-endpoint"), parsing: .unconditional,
        help: "The URL of the token endpoint, for a server without discovery.")
    var tokenEndpoint: String?
    @OptionGroup var client: ClientOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    /// Whether the options describe the client. If not, it is the session's.
    private var namesClient: Bool { subjectFile != nil || tokenEndpoint != nil || client.isGiven }

    func validate() throws {
        if actorFile == nil, actorType != nil { throw ValidationError("--actor-token-type needs --actor-token-file") }
        if subjectFile == nil {
            if namesClient {
                throw ValidationError(
                    "without --subject-token-file, the stored session provides the token and the client")
            }
            if let subjectType, StoredKind(rawValue: subjectType.argument) == nil {
                throw ValidationError("--subject-token-type: expected access_token or id_token of a stored session")
            }
            return
        }
        if (session.issuer == nil) == (tokenEndpoint == nil) {
            throw ValidationError("expected either --issuer or --token-endpoint")
        }
        if session.clientID?.isEmpty ?? true {
            throw ValidationError("expected --client-id")
        }
        if session.store != nil { throw ValidationError("--store takes no --subject-token-file") }
        if session.profile != nil { throw ValidationError("--profile takes no --subject-token-file") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let exchanged =
            if let subjectFile { try await ofFile(subjectFile, console.environment) } else {
                try await ofSession(console, limit)
            }
        try console.succeed(result(exchanged), text: exchanged.value.reveal())
        return 0
    }

    private func request(of subject: SecurityToken) throws -> TokenExchangeRequest {
        var request = TokenExchangeRequest(
            of: subject, actor: try actorFile.map { try token($0, of: "--actor-token-file", actorType) })
        request.requestedKind = requestedType?.kind
        (request.audience, request.resources) = (audience, resource)
        request.scope = [Scope](spaceDelimited: scope)
        return request
    }

    private func token(_ file: String, of option: String, _ type: TokenTypeName?) throws -> SecurityToken {
        SecurityToken(try SecretFile.read(file, of: option), kind: type?.kind ?? .accessToken)
    }

    private func ofFile(_ file: String, _ environment: Environment) async throws -> ExchangedToken {
        let request = try request(of: token(file, of: "--subject-token-file", subjectType))
        let client = try await client.configuration(
            session.clientID ?? "", at: ProviderPreset(issuer: session.issuer, tokenEndpoint: tokenEndpoint),
            in: environment
        ).client()
        return try await request.send(as: client, in: environment)
    }

    private func ofSession(_ console: Console, _ limit: Duration) async throws -> ExchangedToken {
        try await session.withState(console, within: limit) { state in
            let deadline = ContinuousClock.now + limit
            let token = try await state.patiently(forceRefresh: false, until: deadline, console) { isForced in
                guard subjectType?.kind == .idToken else {
                    return SecurityToken(
                        try await state.freshAccessToken(forceRefresh: isForced).value, kind: .accessToken)
                }
                return SecurityToken(try await state.freshIDToken().rawValue, kind: .idToken)
            }
            return try await state.exchange(request(of: token))
        }
    }

    private func result(_ token: ExchangedToken) -> JSON {
        let expiry = token.lifetime.map { token.received.wall + $0.seconds }
        return [
            "access_token": .string(token.value.reveal()), "token_type": .string(token.tokenType ?? "N_A"),
            "issued_token_type": .string(token.kind.rawValue),
            "expires_at": expiry.map { .string($0.ISO8601Format()) } ?? .null,
            "scope": .string(token.scope?.spaceDelimited ?? scope),
        ]
    }
}

/// A token type: the last word of its URI (RFC 8693 §3), or any URI.
struct TokenTypeName: ExpressibleByArgument, Sendable {
    let argument: String
    let kind: SecurityToken.Kind

    init?(argument: String) {
        let known: [SecurityToken.Kind] = [.accessToken, .refreshToken, .idToken, .jwt, .saml1, .saml2]
        self.argument = argument
        if let kind = known.first(where: { $0.rawValue.hasSuffix(":" + argument) }) {
            self.kind = kind
        } else if argument.contains(":") {
            kind = SecurityToken.Kind(rawValue: argument)
        } else {
            return nil
        }
    }
}
