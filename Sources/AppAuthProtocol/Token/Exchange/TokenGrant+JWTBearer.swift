internal import FoundationEssentials
internal import JOSE

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

    /// Creates a grant from an assertion that ``Environment/grantAssertion`` returns for each request, by this name. The
    /// session renews itself with the next one, and stores only the name.
    ///
    /// With ``Environment/live``, the name is the path of a file, for example of the token of a workload that its platform
    /// renews.
    ///
    /// - Parameter user: The user that the session is for, if the assertions come from a session that could become another
    ///   user's. It is stored, and is part of each demand.
    /// - Throws: As ``init(_:scope:resources:parameters:)``.
    public static func jwtBearer(
        assertionNamed name: String, about user: AssertionDemand.User? = nil, scope: [Scope] = [],
        resources: [String] = []
    ) throws -> TokenGrant {
        try TokenGrant(
            .jwtBearer, scope: scope, resources: resources, parameters: [:], assertionNamed: name, about: user)
    }

    /// Returns the grant with its assertion. RFC 7523 §3 item 4: an expired one is of no use, and is not sent.
    package func withAssertion(
        for client: Client, in environment: Environment, _ stage: AuthError.Stage
    ) async throws -> TokenGrant {
        guard type == .jwtBearer else { return self }
        var parameters = parameters
        if let assertionName {
            let demand = AssertionDemand(
                name: assertionName, about: assertionUser, client: client, scope: scope, resources: resources)
            do { parameters["assertion"] = try await environment.grantAssertion(demand) } catch {
                throw try AuthError(beforeSending: error, stage, "there is no assertion")
            }
        }
        let claims = parameters["assertion"].flatMap { try? JWS(compact: $0.reveal()).claims }
        if let expiry = claims?["exp"]?.double.map(Date.init(timeIntervalSince1970:)),
            expiry <= environment.time(of: client).date
        {
            throw AuthError(
                .invalidGrant, stage,
                "the assertion has expired, at \(expiry.formatted(.iso8601)). It was not sent: get a new one",
                outcome: .notSent)
        }
        return try TokenGrant(
            type, scope: scope, resources: resources, parameters: parameters, assertionNamed: nil)
    }
}

/// What an assertion is needed for.
public struct AssertionDemand: Sendable, Hashable {
    /// The name of the assertion in ``TokenGrant/assertionName``.
    public let name: String
    /// The user that the assertion must be about; nil if the grant does not say.
    public let user: User?
    /// The client that presents it, at the authorization server that accepts it.
    public let client: Client
    /// The requested scopes; empty if the server chooses.
    public let scope: [Scope]
    /// The absolute URIs of the resources that the token is for.
    public let resources: [String]

    /// Creates a demand, for a statement that is needed without a grant.
    public init(
        name: String = "", about user: User? = nil, client: Client, scope: [Scope] = [], resources: [String]
    ) {
        (self.name, self.user, self.client, self.scope, self.resources) = (name, user, client, scope, resources)
    }

    /// A user of an identity provider. The issuer and the subject together identify the user (OpenID Connect Core §5.7).
    public struct User: Sendable, Hashable {
        /// The issuer of the user's ID tokens.
        public let issuer: String
        /// The user's identifier, unique at the issuer.
        public let subject: String

        init(issuer: String, subject: String) { (self.issuer, self.subject) = (issuer, subject) }

        /// Both, for messages.
        package var foundText: String { "\(subject.foundText) at \(issuer.foundText)" }

        /// Both are case-sensitive, and are compared byte by byte (Core §2).
        public static func == (one: User, other: User) -> Bool {
            one.issuer.isExactly(other.issuer) && one.subject.isExactly(other.subject)
        }
    }
}

extension Environment {
    /// Returns the assertion of a grant that has only its name, see
    /// ``TokenGrant/jwtBearer(assertionNamed:about:scope:resources:)``: a JWT from another issuer. Called for each token
    /// request with the grant, since such a JWT is often valid for only a few minutes.
    ///
    /// If it throws, the request is not sent, with the errors of ``clientAssertion``; an error that demands another
    /// sign-in is ``AuthError/Code/signInRequired``.
    public var grantAssertion: @Sendable (_ demand: AssertionDemand) async throws -> Secret {
        get { self[GrantAssertionSource.self].find }
        set { self[GrantAssertionSource.self].find = newValue }
    }
}

private struct GrantAssertionSource: EnvironmentKey, Sendable {
    var find: @Sendable (AssertionDemand) async throws -> Secret

    static let defaultValue = GrantAssertionSource { demand in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.grantAssertion to return the assertion \(demand.name.foundText), found none")
    }
}
