extension TokenGrant {
    /// The grant for a user name and password that the user gave to the app (RFC 6749 §4.3).
    ///
    /// If the server issues a refresh token, the session continues with it. Name and password are not stored.
    ///
    /// - Parameters:
    ///   - username: The user's name at the server. It is kept out of logs and errors.
    ///   - password: The user's password.
    ///   - scope: The requested scope; if it is empty, the server decides.
    ///   - parameters: Parameters that the server requires beyond the RFC.
    /// - Throws: As ``TokenGrant/init(_:scope:resources:parameters:)``.
    @available(
        *, deprecated,
        message:
            "RFC 9700 §2.4: this grant must not be used. Sign in with the browser (SignIn), or with a code (DeviceSignIn)"
    )
    public static func password(
        username: String, password: Secret, scope: [Scope] = [], parameters: [String: Secret] = [:]
    ) throws -> TokenGrant {
        try resourceOwnerPassword(username: username, password: password, scope: scope, parameters: parameters)
    }

    /// The same grant without the deprecation, for the package's own code.
    package static func resourceOwnerPassword(
        username: String, password: Secret, scope: [Scope] = [], parameters: [String: Secret] = [:]
    ) throws -> TokenGrant {
        let own = ["username": Secret(username), "password": password]
        return try TokenGrant(
            GrantType(rawValue: "password"), scope: scope, parameters: parameters.merging(own) { $1 })
    }
}
