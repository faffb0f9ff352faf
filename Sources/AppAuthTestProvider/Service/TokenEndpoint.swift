internal import HTTPTypes

/// The token endpoint (RFC 6749 §3.2), which selects the grant.
struct TokenEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            var context = context
            context.confirmation = try confirmation(of: client, in: request)
            guard let type = form["grant_type"] else { throw OAuthFailure.invalidRequest("expected a grant_type") }
            let grant: (Parameters, RegisteredClient) throws -> TokenReply
            if let addition = context.configuration.addition, addition.grantTypes.contains(type) {
                grant = { try addition.tokens(type, $0, $1, context) }
            } else {
                grant = try Self.grant(type, context)
            }
            guard client.grantTypes.contains(type) else {
                throw OAuthFailure("unauthorized_client", "the client may not use this grant_type")
            }
            return .json(context.edited(try grant(form, client).json))
        }
    }

    private static func grant(
        _ type: String, _ context: Context
    ) throws -> (Parameters, RegisteredClient) throws -> TokenReply {
        switch type {
        case "authorization_code": return CodeGrant(context: context).redeem
        case "refresh_token": return RefreshGrant(context: context).refresh
        case "client_credentials": return ClientCredentialsGrant(context: context).issue
        case "password": return PasswordGrant(context: context).issue
        case GrantType.tokenExchange: return TokenExchangeGrant(context: context).exchange
        case GrantType.assertion: return AssertionGrant(context: context).issue
        case GrantType.backchannel: return BackchannelGrant(context: context).redeem
        case GrantType.deviceCode: return DeviceCodeGrant(context: context).redeem
        default: throw OAuthFailure("unsupported_grant_type", "the grant_type is not supported")
        }
    }

    /// Returns what the tokens of a request are bound to: the certificate of a client that is registered that way
    /// (RFC 8705 §3.4), or the key of a proof.
    private func confirmation(of client: RegisteredClient, in request: Request) throws(OAuthFailure) -> Confirmation? {
        guard client.bindsTokensToCertificate else {
            return try DPoP(context: context).confirmation(of: client, in: request)
        }
        guard let certificate = request.certificate else {
            throw .invalidRequest("expected the client's certificate on the connection")
        }
        return Confirmation(certificate: certificate)
    }
}
