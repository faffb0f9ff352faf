extension TokenGrant {
    /// Creates a grant from the signed assertion of an issuer that the server trusts, instead of a sign-in (RFC 7523
    /// §2.1). The session does not renew itself with it: an assertion is valid for minutes.
    ///
    /// - Parameter assertion: A JWT whose `aud` is the server (RFC 7523 §3).
    /// - Throws: As ``init(_:scope:resources:parameters:)``.
    public static func jwtBearer(
        assertion: Secret, scope: [Scope] = [], resources: [String] = []
    ) throws -> TokenGrant {
        try TokenGrant(.jwtBearer, scope: scope, resources: resources, parameters: ["assertion": assertion])
    }
}
