public import AppAuthProtocol
internal import AppAuthSession
internal import Glibc
internal import HTTPTypes

/// A job of GitHub Actions, whose ID tokens serve as client assertions at providers that trust GitHub, or as assertions in
/// place of a sign-in (``Environment/grantAssertion``).
///
/// ```swift
/// let job = try GitHubActionsJob()
/// environment.clientAssertion = { [environment] audience in
///     try await job.idToken(for: audience, in: environment)
/// }
/// let client = Client(
///     id: "my-service", authentication: .assertion(named: "api://AzureADTokenExchange"), provider: provider)
/// ```
/// The workflow needs `permissions: id-token: write`.
public struct GitHubActionsJob: Sendable {
    private let url: SecureURL
    private let token: Secret

    /// Finds the job in the process's environment: `ACTIONS_ID_TOKEN_REQUEST_URL` and
    /// `ACTIONS_ID_TOKEN_REQUEST_TOKEN`.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if a variable is missing or malformed.
    public init() throws { try self.init { name in getenv(name).map { String(cString: $0) } } }

    /// - Parameter variable: Returns the value of an environment variable.
    package init(variable: (String) -> String?) throws {
        let names = ["ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"]
        let values = names.map { variable($0) ?? "" }
        if let missing = zip(names, values).first(where: { $0.1.isEmpty })?.0 {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "\(missing) is not set. Does the workflow have 'permissions: id-token: write'?")
        }
        (url, token) = (try SecureURL(values[0]), Secret(values[1]))
    }

    /// Requests an ID token of the job. It is valid for a few minutes.
    ///
    /// - Parameters:
    ///   - audience: The audience that the provider expects.
    ///   - environment: The HTTP transport.
    /// - Throws: ``AuthError``: ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func idToken(for audience: String, in environment: Environment) async throws -> Secret {
        var query = FormParameters()
        query.append("audience", audience)
        let url = try SecureURL(url.appending(query))
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.authorization] = "Bearer \(token.reveal())"
        request.headerFields[.accept] = "application/json"
        let response = try await environment.send(TransportRequest(request, limits: .document), stage: .configuration)
        guard response.status == .ok else { throw response.unexpectedStatus(from: url, stage: .configuration) }
        let object = try ResponseObject(response) { message in
            AuthError(
                .invalidResponse, .configuration, "invalid response with the job’s ID token: \(message)",
                httpStatus: HTTPResponse.Status.ok.code)
        }
        return Secret(try object.required("value") { try object.text($0) })
    }
}
