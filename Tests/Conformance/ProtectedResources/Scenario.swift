import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// A scenario of the conformance suite of the Model Context Protocol (github.com/modelcontextprotocol/conformance,
/// src/scenarios/client/auth): a resource and its authorization server, and what they must see of a client.
struct Scenario: Sendable, CustomTestStringConvertible {
    /// The name in the suite, without `auth/`.
    let name: String
    private(set) var configuration = LocalProvider.Configuration.demo
    /// Faults of the server.
    private(set) var arrange: @Sendable (LocalProvider) -> Void = { _ in }
    /// A client that the user has; nil for one who only knows the URL of the resource.
    private(set) var client: SmallClient.Credentials?
    /// The options of `sign-in login` besides the resource.
    private(set) var options: @Sendable (CommandUser, LocalProvider) throws -> [String] = { _, _ in [] }
    /// The arguments of the command, if it is not a sign-in for a resource and a request to it; and what the library and a small
    /// client do.
    private(set) var task: Task?
    /// How often the client calls the resource.
    private(set) var calls = 1
    /// The error with which a client must stop; nil if it must get to the resource.
    private(set) var refusal: String?
    /// The status with which the resource responds in the end.
    private(set) var status: Int? = 200
    /// The checks, by the identifiers that the suite has for them, and whether each has passed.
    let checks: @Sendable (LocalProvider) -> [String: Bool]
    /// What is wrong with the clients that fail, and the checks that each of them fails.
    let flaws: [(flaw: Flaw, failed: Set<String>)]

    struct Task: Sendable {
        let command: @Sendable (CommandUser, LocalProvider) throws -> [String]
        let library: @Sendable (LocalProvider) async throws -> Void
        let client: @Sendable (SmallClient, LocalProvider) async throws -> Void
    }

    var testDescription: String { name }

    init(
        _ name: String, _ flaws: [Flaw: Set<String>],
        _ change: (inout LocalProvider.Configuration, inout ResourceDescription) -> Void = { _, _ in },
        checks: @escaping @Sendable (LocalProvider) -> [String: Bool]
    ) {
        (self.name, self.checks) = (name, checks)
        self.flaws = flaws.map { ($0.key, $0.value) }.sorted { $0.flaw.rawValue < $1.flaw.rawValue }
        var description = ResourceDescription(scopes: ["api"])
        change(&configuration, &description)
        configuration.resourceDescription = description
    }

    func arranged(_ arrange: @escaping @Sendable (LocalProvider) -> Void) -> Scenario {
        with { $0.arrange = arrange }
    }

    func refusing(_ code: String) -> Scenario { with { $0.refusal = code } }

    func ending(with status: Int) -> Scenario { with { $0.status = status } }

    func calling(_ count: Int) -> Scenario { with { $0.calls = count } }

    func doing(
        _ command: @escaping @Sendable (CommandUser, LocalProvider) throws -> [String],
        library: @escaping @Sendable (LocalProvider) async throws -> Void,
        _ client: @escaping @Sendable (SmallClient, LocalProvider) async throws -> Void
    ) -> Scenario {
        with { $0.task = Task(command: command, library: library, client: client) }
    }

    func known(
        as client: SmallClient.Credentials,
        _ options: @escaping @Sendable (CommandUser, LocalProvider) throws -> [String]
    ) -> Scenario {
        with { ($0.client, $0.options) = (client, options) }
    }

    private func with(_ change: (inout Scenario) -> Void) -> Scenario {
        var scenario = self
        change(&scenario)
        return scenario
    }

    /// The identifiers of the checks that a run has failed: those of the scenario, and those of every scenario.
    func failed(_ provider: LocalProvider) -> Set<String> {
        Set(checks(provider).merging(provider.usualChecks) { $0 && $1 }.filter { !$0.value }.keys)
    }

    /// Runs a client at servers of its own, and returns what it has failed.
    func run(_ client: (LocalProvider) async throws -> Void) async throws -> Set<String> {
        try await withLocalProvider(configuration) { provider in
            arrange(provider)
            try await client(provider)
            return failed(provider)
        }
    }
}

// MARK: What the servers have seen

extension LocalProvider {
    var authorizations: [LoggedRequest] { log(.authorization) }
    var redemptions: [LoggedRequest] { log(.token).filter { $0.form["grant_type"] == "authorization_code" } }
    var registrations: [JSON] { log(.clientRegistration).compactMap { try? JSON(parsing: $0.body) } }

    /// The requests of the whole journey that every scenario of metadata demands.
    var stages: [String: Bool] {
        let metadata = log(.openIDConfiguration) + log(.oauthMetadata)
        return [
            "authorization-server-metadata": metadata.contains { $0.status == 200 },
            "client-registration": count(.clientRegistration) > 0,
            "authorization-request": count(.authorization) > 0, "token-request": count(.token) > 0,
        ]
    }

    /// Whether a path was asked for that the scenario has no document at.
    func wasAsked(for path: String) -> Bool { log(.none).contains { $0.path == path } }

    /// The checks of every scenario.
    fileprivate var usualChecks: [String: Bool] {
        let (asked, given) = (authorizations.map(\.query), log(.token).map(\.form))
        let challenges = asked.compactMap { $0["code_challenge"] }
        let resources = (asked + given).flatMap { $0.values("resource") }
        return [
            "pkce-code-challenge-sent": challenges.count == asked.count,
            "pkce-s256-method-used": asked.allSatisfy { $0["code_challenge_method"] == "S256" },
            // RFC 7636 §4.6.
            "pkce-verifier-matches-challenge": redemptions.allSatisfy {
                $0.form["code_verifier"].map { challenges.contains(Base64URL.encode(Digest.sha256.hash($0))) } ?? false
            },
            // RFC 8707 §2.
            "resource-parameter-in-authorization": asked.allSatisfy { $0["resource"] != nil },
            "resource-parameter-in-token": given.allSatisfy { $0["resource"] != nil },
            "resource-parameter-valid-uri": resources.allSatisfy { (try? SecureURL($0)) != nil && !$0.contains("#") },
            "resource-parameter-consistency": Set(resources).count <= 1,
            "application-type-present": registrations.allSatisfy {
                ["native", "web"].contains($0["application_type"]?.string)
            },
        ]
    }
}

extension LoggedRequest {
    /// The scopes of an authorization request.
    var scope: Set<String> { Set((query["scope"] ?? "").split(separator: " ").map(String.init)) }

    /// How the client of a token request has authenticated.
    var authentication: String {
        if headers[.authorization]?.hasPrefix("Basic ") == true { return "client_secret_basic" }
        return form["client_secret"] == nil ? "none" : "client_secret_post"
    }
}

// MARK: What the servers do

extension LocalProvider {
    /// Changes both documents of the authorization server.
    func edit(_ edit: @escaping @Sendable (inout JSON.Object) -> Void) {
        for endpoint in [Endpoint.openIDConfiguration, .oauthMetadata] {
            fault(.editDocument(edit), at: endpoint, times: nil)
        }
    }

    /// Changes the metadata of the resource.
    func editResource(_ edit: @escaping @Sendable (inout JSON.Object) -> Void) {
        fault(.editDocument(edit), at: .resourceMetadata, times: nil)
    }

    /// Takes a document away.
    func remove(_ endpoint: Endpoint) { fault(.status(.notFound), at: endpoint, times: nil) }

    /// Refuses requests with a token, after the first request, which has none.
    func refuse(_ challenge: String, _ status: HTTPResponse.Status = .forbidden, times: Int? = 1) {
        fault(.editReply { _ in }, at: .api)
        fault(.status(status, [.wwwAuthenticate: challenge]), at: .api, times: times)
    }

    /// Changes `iss` in the authorization response (RFC 9207 §2); nil takes it out.
    func editIssuer(_ value: String?) {
        for endpoint in [Endpoint.authorization, .interaction] {
            fault(.edit("iss", value, at: "/callback"), at: endpoint, times: nil)
        }
    }
}
