extension TokenGrant {
    /// The signed statement of somebody whom the server trusts, in place of a sign-in (RFC 7523 §2.1). The session does
    /// not renew itself by it: an assertion is good for minutes.
    ///
    /// - Parameter assertion: A JWT whose `aud` is the server (RFC 7523 §3).
    /// - Throws: As ``init(_:scope:resources:parameters:)``.
    public static func jwtBearer(
        assertion: Secret, scope: [Scope] = [], resources: [String] = []
    ) throws -> TokenGrant {
        try TokenGrant(.jwtBearer, scope: scope, resources: resources, parameters: ["assertion": assertion])
    }
}
