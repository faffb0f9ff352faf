import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE

extension Scenario {
    /// The scenarios of the suite's extensions.
    static let optional = clientCredentials + dpop

    // MARK: A client that acts for itself (RFC 6749 §4.4)

    private static let service = SmallClient.Credentials(
        id: RegisteredClient.demoService.id, secret: RegisteredClient.demoService.secret, method: "client_secret_basic")
    private static let key = Result { try SigningKey.generate(.es256) }

    private static let clientCredentials = [
        Scenario("client-credentials-basic", [.postsSecret: ["client-credentials-basic-auth"]]) { provider in
            let request = provider.log(.token).last
            let isRight = request?.authentication == "client_secret_basic" && request?.status == 200
            return ["client-credentials-basic-auth": isRight && request?.form["grant_type"] == "client_credentials"]
        }.known(as: service) { _, _ in [] }.doing { user, provider in
            try commandLine(provider) + ["--client-secret-file", user.file("secret", service.secret ?? "")]
        } library: { provider in
            try await present(at: provider, .clientSecretBasic(Secret(service.secret ?? "")))
        } _: { client, provider in
            try await client.getOwnToken(at: provider, for: provider.url(.api))
        },
        // RFC 7523 §3: the audience identifies the authorization server. RFC 7523bis: it is the issuer and nothing else.
        Scenario(
            "client-credentials-jwt", [.namesTokenEndpointAsAudience: ["client-credentials-jwt-verified"]]
        ) { configuration, _ in
            let keys = (try? key.get()).map { [$0.publicKey] } ?? []
            configuration.clients = [RegisteredClient(id: service.id, keys: keys, grantTypes: ["client_credentials"])]
        } checks: { provider in
            let request = provider.log(.token).last
            let claims = request?.form["client_assertion"].flatMap { try? JWS(compact: $0).claims }
            let names = [claims?["iss"], claims?["sub"]]
            let isRight =
                names.allSatisfy { $0?.string == service.id } && claims?["aud"]?.string == provider.issuer
                && request?.form["grant_type"] == "client_credentials" && request?.status == 200
            return ["client-credentials-jwt-verified": isRight]
        }.known(as: service) { _, _ in [] }.doing { user, provider in
            try commandLine(provider) + ["--client-key", user.file("key.pem", key.get().pem)]
        } library: { provider in
            try await present(at: provider, .privateKeyJWT(keyNamed: "mine"))
        } _: { client, provider in
            try await client.getOwnToken(at: provider, for: provider.url(.api), key: key.get())
        },
    ]

    private static func commandLine(_ provider: LocalProvider) -> [String] {
        [
            "client-credentials", "--json", "--issuer", provider.issuer, "--client-id", service.id, "--scope", "api",
            "--resource", provider.url(.api),
        ]
    }

    private static func present(at provider: LocalProvider, _ authentication: ClientAuthentication) async throws {
        var environment = LibraryUser.environment
        environment.clientKey = { _ in try ClientKey(pem: key.get().pem) }
        _ = try await LibraryUser.present(
            .clientCredentials(scope: ["api"], resources: [provider.url(.api)]), as: service.id, authentication,
            at: provider.issuer, in: environment)
    }

    // MARK: Tokens that are bound to a key (RFC 9449)

    private static let dpop = [
        Scenario(
            "dpop",
            [
                .presentsAsBearer: ["client-dpop-auth-scheme"], .repeatsProof: ["client-fresh-proof"],
                .sendsNoProofForToken: ["client-token-request-proof"],
            ]
        ) {
            $0.proofs
        }.arranged { $0.requireDPoP() }.calling(2),
        Scenario(
            "dpop-nonce",
            [
                .ignoresNonceOfServer: [
                    "client-as-nonce", "client-rs-nonce", "client-dpop-auth-scheme", "client-fresh-proof",
                ], .ignoresNonceOfResource: ["client-rs-nonce"],
            ]
        ) { configuration, _ in
            configuration.dpopNonce = .required()
        } checks: { provider in
            provider.proofs.merging([
                // RFC 9449 §8, §9: the server asks, and the next request has its nonce.
                "client-as-nonce": provider.redemptions.hasNonceAfter(400),
                "client-rs-nonce": provider.callsWithToken.hasNonceAfter(401),
            ]) { $1 }
        }.arranged { provider in
            provider.requireDPoP()
            // The nonce of the token response is of no use at the resource, which may be another server.
            provider.fault(
                .editReply { [weak provider] reply in if reply.status == .ok { provider?.forgetDPoPNonces() } },
                at: .token, times: nil)
        }.calling(2),
    ]
}

extension LocalProvider {
    fileprivate func requireDPoP() { editResource { $0["dpop_bound_access_tokens_required"] = true } }

    fileprivate var callsWithToken: [LoggedRequest] { log(.api).filter { $0.headers[.authorization] != nil } }

    /// RFC 9449 §4.2, §5, §7.1.
    fileprivate var proofs: [String: Bool] {
        let calls = callsWithToken
        let ids = calls.compactMap { $0.proof(to: url(.api))?["jti"]?.string }
        let schemes = calls.compactMap { $0.headers[.authorization]?.split(separator: " ").first }
        return [
            "client-token-request-proof": !redemptions.isEmpty
                && redemptions.allSatisfy { $0.proof(to: url(.token)) != nil },
            "client-dpop-auth-scheme": !calls.isEmpty && schemes.allSatisfy { $0 == "DPoP" },
            "client-fresh-proof": !calls.isEmpty && ids.count == calls.count && Set(ids).count == ids.count,
        ]
    }
}

extension LoggedRequest {
    /// The claims of the request's proof; nil if it has none that is for it. The provider has verified the signature.
    fileprivate func proof(to url: String) -> JSON.Object? {
        let proofs = HTTPField.Name("DPoP").map { headers[values: $0] } ?? []
        guard proofs.count == 1, let jws = try? JWS(compact: proofs[0]), let claims = try? jws.claims,
            jws.header.typ == "dpop+jwt", claims["htm"]?.string == method.rawValue, claims["htu"]?.string == url
        else { return nil }
        return claims
    }

    fileprivate var nonce: JSON? {
        HTTPField.Name("DPoP").flatMap { headers[$0] }.flatMap { try? JWS(compact: $0).claims["nonce"] }
    }
}

extension [LoggedRequest] {
    /// Whether a request was refused, and the next one has a nonce, or another one, and was accepted.
    fileprivate func hasNonceAfter(_ status: Int) -> Bool {
        zip(self, dropFirst()).contains {
            $0.status == status && $1.status == 200 && $1.nonce != nil && $1.nonce != $0.nonce
        }
    }
}
