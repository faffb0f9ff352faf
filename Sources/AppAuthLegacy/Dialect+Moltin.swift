internal import FoundationEssentials
internal import HTTPTypes

extension Dialect {
    /// The dialect of Moltin's first API (`https://api.molt.in/oauth/access_token`).
    ///
    /// The client's credentials are in the form. A response may report the token's end as `expires`, in seconds since
    /// 1970. An invalid token gets a 400 that says so, not a 401 with a challenge.
    ///
    /// Errors are sentences, in `error` or `errors`. The dialect guesses their code from the terms of RFC 6749 in them,
    /// and only a sentence about the refresh token ends a session. ``AuthError/server`` has the sentence, or "Unknown
    /// Error" if there is none.
    ///
    /// ```swift
    /// var environment = Environment.live
    /// environment.dialect = .moltin
    /// let client = Client(
    ///     id: id, authentication: .clientSecretPost(secret),
    ///     provider: try ProviderMetadata(tokenEndpoint: "https://api.molt.in/oauth/access_token"))
    /// let state = try await AuthState.restoreOrPresent(
    ///     .clientCredentials(), as: client, store: store, environment: environment)
    /// ```
    public static let moltin: Dialect = {
        var dialect = Dialect()
        dialect.tokenRequest = { form, fields, client in client.authenticate(inForm: &form, &fields) }
        dialect.tokenResponse = { response in
            response.withLifetimeFromEnd.translatingError(
                fallback: response.reportsFailure ? "Unknown Error" : nil, moltinError)
        }
        dialect.refusesToken = { response in
            response.status == .badRequest && response.reportsFailure
                && response.errorSentences.contains { $0.lowercased().contains("access token is not valid") }
        }
        return dialect
    }()

    /// Returns the error code for a sentence that uses the terms of RFC 6749, and `invalid_request` for any other.
    /// A sentence that mentions the client is about the client, even if it also mentions something else.
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
    fileprivate var reportsFailure: Bool { (try? parsedBody)?["status"] == .bool(false) }

    /// The response with a missing `expires_in` calculated from `expires` and `Date`, which are both by the server's
    /// own clock.
    fileprivate var withLifetimeFromEnd: TransportResponse {
        changingMembers { members in
            guard members[nonEmpty: "expires_in"] == nil, let end = members["expires"]?.double,
                let now = headerFields[.date].flatMap(Date.init(httpDate:))?.timeIntervalSince1970
            else { return }
            let seconds = min(max(0, end - now), Double(Int32.max)).rounded(.down)
            members["expires_in"] = .number(JSON.Number(Int(seconds)))
        }
    }
}

extension TokenGrant {
    /// Moltin's `implicit` grant: a read-only token for any client that knows the client id, which is no secret.
    ///
    /// A ``Client`` with ``ClientAuthentication/none`` sends the id alone, as apps should. One with a secret sends both,
    /// as Moltin's documentation lists them for every grant.
    ///
    /// It shares only its name with RFC 6749 §4.2. There is no refresh token, so the session cannot be renewed: after
    /// an hour it ends with ``AuthError/Code/noRefreshToken``, and the app starts a new one.
    @available(
        *, deprecated,
        message: "RFC 9700 §2.5: this grant does not authenticate the client. Use clientCredentials() with a secret"
    )
    public static func moltinImplicit() throws -> TokenGrant { try TokenGrant(GrantType(rawValue: "implicit")) }
}
