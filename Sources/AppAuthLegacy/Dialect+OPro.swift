internal import HTTPTypes

extension Dialect {
    /// The dialect of oPRO, a Rails OAuth provider (`…/oauth/token.json`).
    ///
    /// There is no `grant_type`: the parameter `password`, `code` or `refresh_token` implies it. The client's
    /// credentials are in the form. Errors are sentences that may repeat the secrets of the request, so only the part
    /// before the first value is kept. A token goes into `Authorization: Token token="…"`.
    ///
    /// A token that never expires has `"expires_in": false`, null, or a lifetime of more than a hundred years. Servers
    /// before version 0.5.0 send no `token_type`; their tokens are bearer tokens. A server keeps one grant per user and
    /// app: a sign-in ends the user's session on every other machine.
    ///
    /// Sign in with a ``TokenGrant`` of the type `password`, or with a code, which <doc:OldServers> shows how to get:
    ///
    /// ```swift
    /// environment.dialect = .oPRO
    /// let state = try await AuthState.present(
    ///     .oPRO(code: code), as: client, store: store, environment: environment)
    /// ```
    public static let oPRO: Dialect = {
        var dialect = Dialect()
        dialect.tokenRequest = { form, fields, client in
            client.authenticate(inForm: &form, &fields)
            form.remove("grant_type")
        }
        dialect.tokenResponse = { $0.withStandardLifetimeAndType.translatingError(oPROError) }
        dialect.authorize = { token, fields in
            // RFC 9110 §5.6.4: in a quoted string, a backslash escapes these two characters.
            let quoted = token.value.reveal().replacing(#"\"#, with: #"\\"#).replacing(#"""#, with: #"\""#)
            fields[.authorization] = #"Token token="\#(quoted)""#
        }
        dialect.refusesToken = { $0.status == .unauthorized }
        return dialect
    }()

    /// Returns the error code for a sentence. An unknown client comes first: a refresh token stays valid if another
    /// client presents it. A token that belongs to no user is rejected permanently.
    private static func oPROError(_ sentence: String) -> (code: String, description: String) {
        let shown = String(sentence.prefix { $0 != "=" })
        if ["client_id", "client_secret"].contains(where: shown.contains) { return ("invalid_client", shown) }
        return (shown.split(separator: " ").contains("user") ? "invalid_grant" : "invalid_request", shown)
    }
}

extension TransportResponse {
    /// The response with `null` for the lifetime of a token that never expires, and with the type that servers before
    /// version 0.5.0 leave out.
    fileprivate var withStandardLifetimeAndType: TransportResponse {
        changingMembers { members in
            guard members["access_token"] != nil else { return }
            if members[nonEmpty: "token_type"] == nil { members["token_type"] = "bearer" }
            // oPRO's own demo configures 10,000 years, which the library would take for a mistake of the server.
            let isEndless = members["expires_in"] == false || members["expires_in"]?.double ?? 0 > 3_155_760_000
            if isEndless { members["expires_in"] = .null }
        }
    }
}

extension TokenGrant {
    /// The grant for the code that oPRO adds to the redirect after the user's consent.
    public static func oPRO(code: Secret) throws -> TokenGrant {
        try TokenGrant(.authorizationCode, parameters: ["code": code])
    }

    /// The grant for an email address and password that the user gave to the app. For a user name, use
    /// ``password(username:password:scope:parameters:)``.
    @available(
        *, deprecated,
        message: "RFC 9700 §2.4: this grant must not be used. Use a code, which the user gets in the browser"
    )
    public static func oPRO(email: String, password: Secret) throws -> TokenGrant {
        try TokenGrant(GrantType(rawValue: "password"), parameters: ["email": Secret(email), "password": password])
    }
}
