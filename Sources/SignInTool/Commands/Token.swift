internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in token`.
struct Token: Command {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Prints a valid access token, refreshing it if needed.",
        discussion: "Example: sign-in token --format header | curl -H @- https://api.example.org/v1/me")

    @Option(
        name: .customLong("min-validity"), parsing: .unconditional, help: "The minimum remaining validity, in seconds.")
    var minimumValidity: UInt32?
    @Flag(name: .customLong("force-refresh"), help: "Refresh the token even if it is still valid.")
    var forceRefresh = false
    @Flag(name: .customLong("id-token"), help: "Print a valid ID token instead, for servers that accept one.")
    var isIDToken = false
    @Option(
        help: """
            What to print: the token; an Authorization header; for a shell, an export of the variable ACCESS_TOKEN, or \
            ID_TOKEN with --id-token; or the initial response of SASL XOAUTH2 or OAUTHBEARER (RFC 7628) in base64.
            """)
    var format = TokenFormat.token
    @Option(
        parsing: .unconditional,
        help: "The mail account, for xoauth2 and oauthbearer. (default: the user’s email address or name)")
    var user: String?
    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if json, format != .token { throw ValidationError("--json takes no --format") }
        if user != nil, !format.hasUser { throw ValidationError("--user needs --format xoauth2 or oauthbearer") }
        // The formats separate their parts with control characters.
        try user?.checkAsName(of: "--user")
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let validity = minimumValidity.map { Duration.seconds($0) }
        let (result, line) = try await session.withState(console, within: limit) { state in
            let deadline = ContinuousClock.now + limit
            return try await state.patiently(forceRefresh: forceRefresh, until: deadline, console) { isForced in
                guard isIDToken else {
                    let token = try await state.freshAccessToken(minimumValidity: validity, forceRefresh: isForced)
                    let record = await state.record
                    if format != .token { _ = try token.checkedAsBearer() }
                    return (Self.result(token, record), try formatted(token.value, "ACCESS_TOKEN", record))
                }
                // A refresh brings a new ID token too.
                if isForced { _ = try await state.freshAccessToken(forceRefresh: true) }
                let token = try await state.freshIDToken(minimumValidity: validity ?? .seconds(60))
                let record = await state.record
                return (Self.result(token, record), try formatted(token.rawValue, "ID_TOKEN", record))
            }
        }
        try console.succeed(result, text: line)
        return 0
    }

    private func formatted(_ token: Secret, _ variable: String, _ record: AuthStateRecord) throws -> String {
        let claims = record.idToken?.claims
        let user = user ?? claims?.email ?? claims?.preferredUsername
        guard !format.hasUser || user != nil else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the ID token has neither an email address nor a user name. Use --user")
        }
        return format.text(token.reveal(), variable: variable, user: (user ?? "").onOneLine)
    }

    private static func result(_ token: IDToken, _ record: AuthStateRecord) -> JSON {
        [
            "id_token": .string(token.rawValue.reveal()),
            "expires_at": .string(record.expiry(of: token).ISO8601Format()),
        ]
    }

    static func result(_ token: AccessToken, _ record: AuthStateRecord) -> JSON {
        var result: JSON.Object = [
            "access_token": .string(token.value.reveal()), "token_type": .string(token.type.rawValue),
            "expires_at": record.expiry, "scope": .string(record.scope.spaceDelimited ?? ""),
        ]
        // Without them, some APIs cannot be called: `instance_url` of Salesforce, `patient` of SMART on FHIR.
        let more = record.additionalParameters
        if !more.members.isEmpty { result["additional_parameters"] = .object(more) }
        return .object(result)
    }
}
