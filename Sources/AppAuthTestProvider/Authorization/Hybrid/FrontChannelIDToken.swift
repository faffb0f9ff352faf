internal import FoundationEssentials
internal import JOSE

/// The ID token that comes with the code (OpenID Connect Core §3.3.2.11). It authenticates the code and the state. Its
/// only claim about the user is the subject, since it passes through the browser.
struct FrontChannelIDToken {
    let context: Context

    func token(_ grant: Grant, code: String, state: String?, _ client: RegisteredClient) throws -> String {
        let issuer = IDTokenIssuer(context: context)
        let algorithm = issuer.algorithm(for: client)
        var claims = issuer.claims(of: grant, for: client)
        claims["nonce"] = grant.nonce.map(JSON.string)
        claims["c_hash"] = IDTokenIssuer.hash(code, algorithm).map(JSON.string)
        // Financial-grade API 1.0 Advanced §5.2.2.1.
        claims["s_hash"] = state.flatMap { IDTokenIssuer.hash($0, algorithm) }.map(JSON.string)
        return try issuer.signed(claims, for: client)
    }

    static func describe(_ document: inout JSON.Object, _ context: Context) {
        document["response_types_supported"] = .array(AuthorizationChecks.responseTypes.map(JSON.string))
    }
}

extension AuthorizationChecks {
    static let responseTypes = ["code", "code id_token"]

    /// Returns the response types (OAuth 2.0 Multiple Response Types §5). Their order is irrelevant (§3).
    func responseTypes() throws(OAuthFailure) -> Set<String> {
        guard let text = parameters["response_type"] else { throw .invalidRequest("expected a response_type") }
        let types = Set(text.split(separator: " ").map(String.init))
        guard Self.responseTypes.contains(where: { Set($0.split(separator: " ").map(String.init)) == types }) else {
            throw OAuthFailure(
                "unsupported_response_type",
                "expected the response_type \(Self.responseTypes.joined(separator: " or "))")
        }
        return types
    }

    /// Checks the requirements of an ID token in the response.
    func hybrid(_ types: Set<String>, _ scopes: [String], _ mode: AuthorizationReturn.ResponseMode) throws(OAuthFailure)
    {
        guard types.contains("id_token") else { return }
        // Core §3.3.2.1 and §3.2.2.1.
        guard parameters["nonce"] != nil else { throw .invalidRequest("expected a nonce") }
        guard scopes.contains("openid") else { throw OAuthFailure("invalid_scope", "expected the scope openid") }
        // Multiple Response Types §2.1 and §5: never in the query. This provider does not support fragments.
        guard mode.isFormPost else {
            throw .invalidRequest("expected the response_mode form_post or form_post.jwt beside an ID token")
        }
    }
}
