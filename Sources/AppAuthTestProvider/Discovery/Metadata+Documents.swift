internal import JOSE

/// The metadata documents (OpenID Connect Discovery §3, RFC 8414 §2).
extension Metadata {
    static func openID(_ context: Context) -> JSON {
        var document = common(context)
        if !context.configuration.namesRevocationInOAuthMetadataOnly { addRevocation(to: &document, context) }
        return .object(document)
    }

    static func oauth(_ context: Context) -> JSON {
        var document = common(context)
        addRevocation(to: &document, context)
        return .object(document)
    }

    private static func common(_ context: Context) -> JSON.Object {
        let issuer = context.issuer
        let idTokenAlgorithms = context.keys.algorithms.map { JSON.string($0.rawValue) }
        let additional = (context.configuration.addition?.grantTypes ?? []).filter { !GrantType.all.contains($0) }
        let document: JSON = [
            "issuer": .string(context.configuration.tenant == nil ? issuer.identifier : issuer.template),
            "authorization_endpoint": .string(issuer.url(.authorization)),
            "token_endpoint": .string(issuer.url(.token)),
            "userinfo_endpoint": .string(issuer.url(.userInfo)),
            "jwks_uri": .string(issuer.url(.keys)),
            "end_session_endpoint": .string(issuer.url(.endSession)),
            "device_authorization_endpoint": .string(issuer.url(.deviceAuthorization)),
            "scopes_supported": .array(scopes.map(JSON.string)),
            "response_modes_supported": .array(
                AuthorizationReturn.ResponseMode.allCases.map { .string($0.rawValue) }),
            "grant_types_supported": .array(
                (GrantType.all + additional).map(JSON.string)),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": .array(idTokenAlgorithms),
            "userinfo_signing_alg_values_supported": .array(idTokenAlgorithms),
            "token_endpoint_auth_methods_supported": authentication,
            "token_endpoint_auth_signing_alg_values_supported": .array(
                ClientAssertion.algorithms.map(JSON.string)),
            "code_challenge_methods_supported": ["S256"],
            "prompt_values_supported": .array(promptValues.map(JSON.string)),
            "display_values_supported": .array(displayValues.map(JSON.string)),
            "acr_values_supported": .array(context.configuration.acrValues.map(JSON.string)),
            "ui_locales_supported": .array(Language.allCases.map { .string($0.rawValue) }),
            "claim_types_supported": ["normal", "aggregated", "distributed"],
            "claims_supported": .array(claims.map(JSON.string)),
            "claims_parameter_supported": true,
            // Discovery §3: the default is true.
            "request_uri_parameter_supported": false,
            "authorization_response_iss_parameter_supported": .bool(context.configuration.sendsIssuerParameter),
        ]
        var members = document.object ?? .init()
        for describe in extensions { describe(&members, context) }
        if context.configuration.clientDocumentRoots != nil { members["client_id_metadata_document_supported"] = true }
        return members
    }

    private static func addRevocation(to document: inout JSON.Object, _ context: Context) {
        document["revocation_endpoint"] = .string(context.issuer.url(.revocation))
        document["revocation_endpoint_auth_methods_supported"] = authentication
        document["introspection_endpoint"] = .string(context.issuer.url(.introspection))
        document["introspection_signing_alg_values_supported"] = .array(
            context.keys.algorithms.map { .string($0.rawValue) })
        // RFC 7662 §2.1: the client must be authorized.
        document["introspection_endpoint_auth_methods_supported"] = ["client_secret_basic", "client_secret_post"]
    }

    /// The functions that add the metadata of each extension.
    private static let extensions = [
        PushedRequests.describe, DPoP.describe, RequestObject.describe, AuthorizationResponseJWT.describe,
        FrontChannelIDToken.describe, AuthorizationDetails.describe, DynamicRegistration.describe,
        ResponseEncryption.describe, BackchannelAuthenticationEndpoint.describe,
        ProviderLogout.describe, Confirmation.describe,
    ]

    private static let authentication: JSON = [
        "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
    ]

    private static let claims =
        ["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "acr", "amr", "azp", "at_hash"]
        + scopes.flatMap { User.claimsOfScope[$0] ?? [] }
}
