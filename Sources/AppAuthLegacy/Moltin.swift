internal import FoundationEssentials
internal import HTTPTypes

extension Dialect {
    /// Moltin's first API (`https://api.molt.in/oauth/access_token`).
    ///
    /// The client stands in the form. Answers may tell the end of a token as `expires`, in seconds since 1970. Errors are
    /// sentences, in `error` or `errors`. A dead token is a 400 that says so, not a 401 with a challenge.
    ///
    /// ```swift
    /// var environment = Environment.live
    /// environment.dialect = .moltin
    /// let client = Client(
    ///     id: id, authentication: .clientSecretPost(secret),
    ///     provider: try ProviderMetadata(tokenEndpoint: "https://api.molt.in/oauth/access_token"))
    /// let state = try await AuthState(
    ///     presenting: .clientCredentials(), as: client, store: store, environment: environment)
    /// ```
    public static let moltin: Dialect = {
        var dialect = Dialect()
        dialect.tokenRequest = { form, fields, client in
            client.authenticate(inForm: &form, &fields)
            if form.values("grant_type") == [GrantType.moltinImplicit.rawValue] { form.remove("client_secret") }
        }
        dialect.tokenResponse = { $0.withLifetimeFromEnd.translatingError(moltinError) }
        dialect.refusesToken = { response in
            response.status == .badRequest && (try? JSON(parsing: response.body))?["status"] == .bool(false)
                && response.errorSentences.contains { $0.lowercased().contains("access token is not valid") }
        }
        return dialect
    }()

    /// What a sentence means. One that names the client is about the client, whatever else it names.
    private static func moltinError(_ sentence: String) -> (code: String, description: String) {
        let words = sentence.lowercased().replacing("_", with: " ")
        let meanings = [
            ("client", "invalid_client"), ("refresh token", "invalid_grant"), ("authorization code", "invalid_grant"),
            ("grant type", "unsupported_grant_type"),
        ]
        return (meanings.first { words.contains($0.0) }?.1 ?? "invalid_request", sentence)
    }
}

extension TransportResponse {
    /// With `expires_in` worked out from `expires` where it is missing: both by the server's own clock, its `Date`.
    fileprivate var withLifetimeFromEnd: TransportResponse {
        guard status == .ok, var members = (try? JSON(parsing: body))?.object,
            members["expires_in"] ?? .null == .null, let end = members["expires"]?.double,
            let now = headerFields[.date].flatMap(Date.init(httpDate:))?.timeIntervalSince1970
        else { return self }
        let seconds = min(max(0, end - now), Double(Int32.max)).rounded(.down)
        members["expires_in"] = .number(JSON.Number(Int(seconds)))
        var response = self
        response.body = Array(JSON.object(members).serialized().utf8)
        return response
    }
}

extension GrantType {
    /// Moltin's name for a read-only grant.
    static let moltinImplicit = GrantType(rawValue: "implicit")
}

extension TokenGrant {
    /// Moltin's `implicit` grant: a token that can only read, for whoever knows the client id, which is no secret.
    ///
    /// It has nothing but its name in common with RFC 6749 §4.2. There is no refresh token, and such a session does not
    /// renew itself: after an hour it ends with ``AuthError/Code/noRefreshToken``, and is begun anew.
    @available(
        *, deprecated,
        message:
            "RFC 9700 §2.5: clients should be authenticated, and this grant authenticates nobody. Use clientCredentials() with a secret"
    )
    public static func moltinImplicit() throws -> TokenGrant { try readOnlyMoltin() }

    /// The same, for what in this package serves such servers, and builds without warnings.
    package static func readOnlyMoltin() throws -> TokenGrant { try TokenGrant(.moltinImplicit) }
}
