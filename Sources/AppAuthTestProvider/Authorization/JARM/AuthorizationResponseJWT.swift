internal import FoundationEssentials
internal import JOSE

/// An authorization response as one signed token (JWT Secured Authorization Response Mode for OAuth 2.0).
struct AuthorizationResponseJWT {
    let context: Context

    /// §2.1: at most ten minutes.
    private static let lifetime = 600

    /// Returns the signed parameters of a response, with the issuer and the audience (§2.1).
    func token(
        _ parameters: [(name: String, value: String)], for client: RegisteredClient
    ) throws -> String {
        let algorithm = client.authorizationAlgorithm
        var claims: JSON.Object = [
            "iss": .string(context.issuer.identifier), "aud": .string(client.id),
            "exp": .number(.init(context.now.adding(Self.lifetime).seconds)),
        ]
        for (name, value) in parameters { claims[name] = .string(value) }
        var draft = JWTDraft(
            header: ["kid": .string(try context.keys.signing(algorithm).kid), "typ": "JWT"], claims: claims,
            signature: .key(algorithm))
        for case .editAuthorizationResponse(let edit) in context.faults { edit(&draft) }
        return try draft.serialized(context.keys)
    }

    /// Adds the metadata of §4.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["authorization_signing_alg_values_supported"] = .array(
            context.keys.algorithms.map { .string($0.rawValue) })
    }
}
