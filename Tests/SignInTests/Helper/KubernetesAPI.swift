import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
// AppAuth has another Reply.
import struct AppAuthTestProvider.Reply
import HTTPTypes
import JOSE

/// A Kubernetes API server that authenticates users by ID tokens, as with `--oidc-issuer-url` and `--oidc-client-id`.
/// Its only namespace has the name of the user, which is the claim `sub`. Unlike a real one, it accepts an issuer on
/// loopback without TLS.
struct KubernetesAPI: Sendable {
    private let verifier: JWTVerifier

    init(issuer: String, clientID: String) async throws {
        let environment = Environment(transport: CurlTransport())
        let provider = try await Discovery(environment: environment).metadata(for: Issuer(issuer))
        verifier = JWTVerifier(client: Client(id: clientID, provider: provider), environment: environment)
    }

    func respond(to request: Request) async -> Reply {
        guard let user = await user(request) else { return Self.failure(.unauthorized) }
        return switch request.path {
        case "/api": .json(["kind": "APIVersions", "versions": ["v1"]])
        case "/apis": .json(["kind": "APIGroupList", "apiVersion": "v1", "groups": []])
        case "/api/v1": .json(["kind": "APIResourceList", "groupVersion": "v1", "resources": [Self.namespaces]])
        case "/api/v1/namespaces":
            .json(["kind": "NamespaceList", "apiVersion": "v1", "items": [["metadata": ["name": .string(user)]]]])
        default: Self.failure(.notFound)
        }
    }

    /// Returns the user of a valid token: signed by the issuer's key, from the issuer, for the client, and not expired.
    private func user(_ request: Request) async -> String? {
        guard let field = request.headers[.authorization], field.hasPrefix("Bearer ") else { return nil }
        var expected = ClaimsVerifier(client: verifier.client) { AuthError(.invalidIDToken, .idToken, $0) }
        (expected.exp, expected.leeway) = (.required, .zero)
        let token = String(field.dropFirst("Bearer ".count))
        // RS256 is the default of --oidc-signing-algs.
        return try? await verifier.claims(in: token, signedBy: ["RS256"], expected)["sub"]?.string
    }

    private static let namespaces: JSON = [
        "name": "namespaces", "singularName": "namespace", "namespaced": false, "kind": "Namespace",
        "verbs": ["get", "list"],
    ]

    private static func failure(_ status: HTTPResponse.Status) -> Reply {
        .json(
            [
                "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": .number(.init(status.code)),
                "reason": .string(status == .unauthorized ? "Unauthorized" : "NotFound"),
                "message": .string(status.reasonPhrase),
            ], status)
    }
}
