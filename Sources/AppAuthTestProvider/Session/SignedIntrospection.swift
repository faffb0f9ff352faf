internal import HTTPTypes
internal import JOSE

/// An introspection response as a signed JWT (RFC 9701).
struct SignedIntrospection {
    let context: Context

    private static let type = "token-introspection+jwt"

    /// Returns whether the client accepts only this type (RFC 9701 §4).
    static func isWanted(_ request: Request) -> Bool { request.headers[.accept] == "application/" + type }

    func reply(_ description: JSON, to client: RegisteredClient) throws -> Reply {
        let algorithm = client.idTokenAlgorithm ?? context.configuration.idTokenAlgorithm
        var draft = JWTDraft(
            header: ["typ": .string(Self.type), "kid": .string(try context.keys.signing(algorithm).kid)],
            // §5: the outer claims are about the response, and the inner ones about the token.
            claims: [
                "iss": .string(context.issuer.identifier), "aud": .string(client.id),
                "iat": .number(.init(context.now.seconds)), "token_introspection": description,
            ], signature: .key(algorithm))
        for case .editIDToken(let edit) in context.faults { edit(&draft) }
        return Reply(.ok, type: "application/" + Self.type, try draft.serialized(context.keys))
    }
}
