extension TokenGrant {
    /// A person's name and password in the app's hands (RFC 6749 §4.3).
    ///
    /// The session goes on by its refresh token, if the server gives one; name and password are not stored.
    ///
    /// - Parameters:
    ///   - username: The person's name at the server. It is kept out of logs and errors.
    ///   - password: The person's password.
    ///   - scope: What is asked for; empty leaves it to the server.
    ///   - parameters: What the server wants beyond the RFC.
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

    /// The same, for what in this package serves such servers, and builds without warnings.
    package static func resourceOwnerPassword(
        username: String, password: Secret, scope: [Scope] = [], parameters: [String: Secret] = [:]
    ) throws -> TokenGrant {
        let own = ["username": Secret(username), "password": password]
        return try TokenGrant(
            GrantType(rawValue: "password"), scope: scope, parameters: parameters.merging(own) { $1 })
    }
}
