import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE

extension Scenario {
    /// The scenarios that the suite requires, except for the one with two servers.
    static let required = metadata + client + scopes + tokenEndpoint + issuer

    private static let everyStage: Set = [
        "authorization-server-metadata", "client-registration", "authorization-request", "token-request",
    ]

    // RFC 9728 §3, §5; RFC 8414 §3; OpenID Connect Discovery §4.
    private static let metadata = [
        Scenario("metadata-default", [.asksOriginBeforePath: ["prm-priority-order"]]) { provider in
            provider.stages.merging([
                "prm-priority-order": !provider.wasAsked(for: ResourceDescription.originLocation)
            ]) { $1 }
        }.arranged { $0.remove(.openIDConfiguration) },
        Scenario("metadata-var1", [.readsOAuthMetadataOnly: everyStage]) {
            $1.isNamedInChallenges = false
        } checks: {
            $0.stages
        }.arranged { $0.remove(.oauthMetadata) },
        Scenario("metadata-var2", [.asksOriginOfIssuer: ["authorization-server-metadata-wrong-path"]]) {
            $0.issuerPath = "/tenant1"
            ($1.isNamedInChallenges, $1.location) = (false, ResourceDescription.originLocation)
        } checks: {
            atTenant($0)
        }.arranged { $0.remove(.openIDConfiguration) },
        Scenario("metadata-var3", [.ignoresMetadataLocation: everyStage]) {
            $0.issuerPath = "/tenant1"
            $1.location = "/custom/metadata/location.json"
        } checks: {
            atTenant($0)
        }.arranged { $0.remove(.oauthMetadata) },
        Scenario("resource-mismatch", [.ignoresResourceMismatch: ["resource-mismatch-rejected"]]) {
            ["resource-mismatch-rejected": $0.authorizations.isEmpty && $0.registrations.isEmpty]
        }.arranged { provider in
            provider.editResource { $0["resource"] = "https://evil.example.com/mcp" }
        }.refusing("resource_mismatch"),
        Scenario("metadata-issuer-mismatch", [.ignoresIssuerOfMetadata: ["client-validate-metadata-issuer"]]) {
            provider in
            let isUsed = [.clientRegistration, .authorization, .token].contains { provider.count($0) > 0 }
            return [
                "client-validate-metadata-issuer": provider.stages["authorization-server-metadata"] == true && !isUsed
            ]
        }.arranged { provider in
            provider.edit { $0["issuer"] = "https://attacker.example.com" }
        }.refusing("issuer_mismatch"),
    ]

    /// A server whose issuer has a path has no metadata at its origin.
    private static func atTenant(_ provider: LocalProvider) -> [String: Bool] {
        let wrong = provider.wasAsked(for: "/.well-known/oauth-authorization-server")
        return provider.stages.merging(["authorization-server-metadata-wrong-path": !wrong]) { $1 }
    }

    // MARK: The client

    private static let document = SmallClient.Credentials(id: "https://app.example/client.json")
    private static let confidential = SmallClient.Credentials(
        id: RegisteredClient.demoConfidential.id, secret: RegisteredClient.demoConfidential.secret,
        method: "client_secret_basic")

    private static let client = [
        // draft-ietf-oauth-client-id-metadata-document §5.1. The server knows the document without fetching it.
        Scenario("basic-cimd", [.registersDespiteDocument: ["cimd-client-id-used"]]) { configuration, _ in
            configuration.clients.append(RegisteredClient(id: document.id, redirectURIs: [.anyLoopback]))
        } checks: { provider in
            ["cimd-client-id-used": provider.isUsed { $0.query["client_id"] == document.id }]
        }.arranged { provider in
            provider.edit { $0["client_id_metadata_document_supported"] = true }
        }.known(as: document) { _, _ in ["--client-document", document.id] },
        Scenario("pre-registration", [.postsSecret: ["pre-registration-auth"]]) { configuration, _ in
            configuration.registration = nil
        } checks: { provider in
            let words = [confidential.id, confidential.secret ?? ""].map(FormParameters.encode).joined(separator: ":")
            let expected = "Basic " + Data(words.utf8).base64EncodedString()
            let requests = provider.log(.token)
            let isRight = requests.allSatisfy { $0.headers[.authorization] == expected && $0.status == 200 }
            return ["pre-registration-auth": isRight && !requests.isEmpty]
        }.arranged { provider in
            provider.edit { $0["token_endpoint_auth_methods_supported"] = ["client_secret_basic"] }
        }.known(as: confidential) { user, provider in
            let file = try user.file("secret", confidential.secret ?? "")
            return ["--issuer", provider.issuer, "--client-id", confidential.id, "--client-secret-file", file]
        },
    ]

    // MARK: Scopes (RFC 6750 §3, RFC 9728 §2)

    private static let scopes = [
        Scenario("scope-from-www-authenticate", [.ignoresDemandedScope: ["scope-from-www-authenticate"]]) { provider in
            ["scope-from-www-authenticate": provider.isUsed { $0.scope.contains("api") }]
        }.arranged { provider in provider.editResource { $0["scopes_supported"] = ["phone"] } }.ending(with: 200),
        Scenario("scope-from-scopes-supported", [.requestsOneScope: ["scope-from-scopes-supported"]]) {
            $1.scopes = ["api", "email", "profile"]
        } checks: { provider in
            ["scope-from-scopes-supported": provider.isUsed { $0.scope.isSuperset(of: ["api", "email", "profile"]) }]
        }.arranged { provider in
            provider.fault(.editReply { $0.editChallenge(#", scope="api email profile""#, "") }, at: .api)
        },
        Scenario("scope-omitted-when-undefined", [.requestsDefaultScope: ["scope-omitted-when-undefined"]]) {
            ($0.defaultScopes, $1.scopes) = (["api"], [])
        } checks: { provider in
            ["scope-omitted-when-undefined": provider.isUsed { $0.scope.isEmpty }]
        },
        Scenario(
            "scope-step-up",
            [
                .ignoresDemandedScope: ["scope-step-up-initial", "scope-step-up-escalation"],
                .dropsGrantedScope: ["scope-union-on-reauth"],
            ]
        ) { provider in
            let scopes = provider.authorizations.map(\.scope)
            return [
                "scope-step-up-initial": scopes.first?.contains("api") == true,
                "scope-step-up-escalation": scopes.count == 2 && scopes[1].contains("profile"),
                "scope-union-on-reauth": scopes.count == 2 && scopes[1].isSuperset(of: scopes[0]),
            ]
        }.arranged { provider in
            provider.editResource { $0["scopes_supported"] = ["phone"] }
            provider.refuse(#"Bearer error="insufficient_scope", scope="profile""#)
        },
        Scenario("scope-retry-limit", [.retriesWithoutLimit: ["scope-retry-limit"]]) { provider in
            ["scope-retry-limit": (1...3).contains(provider.authorizations.count)]
        }.arranged { provider in
            provider.refuse(#"Bearer error="insufficient_scope", scope="api""#, times: nil)
        }.ending(with: 403),
        // OpenID Connect Core §11.
        Scenario(
            "offline-access-scope",
            [
                .registersWithoutRefresh: ["client-metadata-grant-types"],
                .requestsNoOfflineAccess: ["offline-access-requested"],
            ]
        ) { provider in
            let grants = provider.registrations.map { $0["grant_types"]?.strings ?? [] }
            return [
                "client-metadata-grant-types": grants.count == 1 && grants[0].contains("refresh_token"),
                "offline-access-requested": provider.isUsed { $0.scope.contains("offline_access") },
            ]
        },
        Scenario(
            "offline-access-not-supported", [.alwaysRequestsOfflineAccess: ["offline-access-not-requested"]]
        ) { provider in
            ["offline-access-not-requested": provider.isUsed { !$0.scope.contains("offline_access") }]
        }.arranged { provider in provider.edit { $0["scopes_supported"] = ["api"] } },
    ]

    // MARK: The token endpoint (RFC 8414 §2)

    private static let tokenEndpoint = [
        ("basic", "client_secret_basic", Flaw.postsSecret), ("post", "client_secret_post", .sendsSecretInHeader),
        ("none", "none", .registersForSecret),
    ].map { name, method, flaw in
        Scenario("token-endpoint-auth-\(name)", [flaw: ["token-endpoint-auth-method"]]) { provider in
            let requests = provider.log(.token)
            let isRight = requests.allSatisfy { $0.authentication == method }
            return ["token-endpoint-auth-method": isRight && !requests.isEmpty]
        }.arranged { provider in provider.edit { $0["token_endpoint_auth_methods_supported"] = [.string(method)] } }
    }

    // MARK: The issuer of the authorization response (RFC 9207 §2.4)

    private static let issuer = [
        accepting("iss-supported", isAnnounced: true, "client-compare-iss-supported", .refusesIssuer),
        accepting("iss-not-advertised", isAnnounced: false, "client-proceed-no-iss", .requiresIssuer),
        refusing("iss-supported-missing", true, "client-reject-missing-iss", .toleratesMissingIssuer) { _ in nil },
        refusing("iss-wrong-issuer", true, "client-compare-iss-supported", .ignoresIssuer) { _ in
            "https://evil.example.com"
        },
        refusing("iss-unexpected", false, "client-compare-iss-unadvertised", .ignoresUnannouncedIssuer) { _ in
            "https://evil.example.com"
        },
        refusing("iss-normalized", true, "client-no-normalization", .normalizesIssuer) { $0 + "/" },
    ]

    private static func accepting(_ name: String, isAnnounced: Bool, _ check: String, _ flaw: Flaw) -> Scenario {
        Scenario(name, [flaw: [check]]) { configuration, _ in
            configuration.sendsIssuerParameter = isAnnounced
        } checks: {
            [check: !$0.redemptions.isEmpty]
        }.arranged { if !isAnnounced { $0.announcesNoIssuer() } }
    }

    private static func refusing(
        _ name: String, _ isAnnounced: Bool, _ check: String, _ flaw: Flaw,
        by value: @escaping @Sendable (_ issuer: String) -> String?
    ) -> Scenario {
        Scenario(name, [flaw: [check]]) { configuration, _ in
            configuration.sendsIssuerParameter = isAnnounced
        } checks: {
            [check: !$0.authorizations.isEmpty && $0.redemptions.isEmpty]
        }.arranged {
            $0.editIssuer(value($0.issuer))
            if !isAnnounced { $0.announcesNoIssuer() }
        }.refusing("invalid_redirect")
    }
}

extension LocalProvider {
    /// Whether there were authorization requests, and all of them are so.
    fileprivate func isUsed(_ isRight: (LoggedRequest) -> Bool) -> Bool {
        !authorizations.isEmpty && authorizations.allSatisfy(isRight)
    }

    fileprivate func announcesNoIssuer() {
        edit { $0["authorization_response_iss_parameter_supported"] = nil }
    }
}

extension Reply {
    fileprivate mutating func editChallenge(_ found: String, _ new: String) {
        headers[.wwwAuthenticate] = headers[.wwwAuthenticate]?.replacing(found, with: new)
    }
}
