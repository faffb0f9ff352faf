internal import HTTPTypes

extension Dialect {
    /// oPRO, a Rails OAuth provider (`…/oauth/token.json`).
    ///
    /// There is no `grant_type`: `password`, `code` or `refresh_token` tells what is asked. The client stands in the form.
    /// Errors are sentences that may repeat the secrets of the request, so that no more of them is taken over than what
    /// comes before the first value. A token goes into `Authorization: Token token="…"`; it may have no end.
    ///
    /// Sign in with a ``TokenGrant`` of the type `password`, or with a code:
    ///
    /// ```swift
    /// environment.dialect = .oPRO
    /// let state = try await AuthState(
    ///     presenting: .oPRO(code: code), as: client, store: store, environment: environment)
    /// ```
    public static let oPRO: Dialect = {
        var dialect = Dialect()
        dialect.tokenRequest = { form, fields, client in
            client.authenticate(inForm: &form, &fields)
            form.remove("grant_type")
        }
        dialect.tokenResponse = { $0.translatingError(oPROError) }
        dialect.authorize = { token, fields in
            // RFC 9110 §5.6.4: in a quoted string these two stand behind a backslash.
            let quoted = token.value.reveal().replacing(#"\"#, with: #"\\"#).replacing(#"""#, with: #"\""#)
            fields[.authorization] = #"Token token="\#(quoted)""#
        }
        dialect.refusesToken = { $0.status == .unauthorized }
        return dialect
    }()

    /// What a sentence means. An unknown client comes first, since a refresh token that another client presents is good all
    /// the same; what is no user's is refused for good.
    private static func oPROError(_ sentence: String) -> (code: String, description: String) {
        let shown = String(sentence.prefix { $0 != "=" })
        if ["client_id", "client_secret"].contains(where: shown.contains) { return ("invalid_client", shown) }
        return (shown.split(separator: " ").contains("user") ? "invalid_grant" : "invalid_request", shown)
    }
}

extension TokenGrant {
    /// The code that oPRO's page gave to a person or to a redirect.
    public static func oPRO(code: Secret) throws -> TokenGrant {
        try TokenGrant(.authorizationCode, parameters: ["code": code])
    }

    /// A person's email address and password in the app's hands; with a username it is
    /// ``password(username:password:scope:parameters:)``.
    @available(
        *, deprecated,
        message: "RFC 9700 §2.4: this grant must not be used. Use a code, which the person gets in the browser"
    )
    public static func oPRO(email: String, password: Secret) throws -> TokenGrant {
        try emailPassword(email: email, password: password)
    }

    /// The same, for what in this package serves such servers, and builds without warnings.
    package static func emailPassword(email: String, password: Secret) throws -> TokenGrant {
        try TokenGrant(GrantType(rawValue: "password"), parameters: ["email": Secret(email), "password": password])
    }
}
