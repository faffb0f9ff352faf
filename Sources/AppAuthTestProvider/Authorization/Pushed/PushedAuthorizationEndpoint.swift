internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The endpoint that accepts an authorization request and returns a reference to it (RFC 9126 §2).
struct PushedAuthorizationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            // RFC 9126 §2.1: the request_uri parameter MUST NOT be provided.
            guard form["request_uri"] == nil else { throw OAuthFailure.invalidRequest("expected no request_uri") }
            var authorization = try authorization(form, client)
            try DPoP(context: context).bind(&authorization, by: request)
            let uri = try PushedRequests(context: context).add(authorization)
            let document: JSON = [
                "request_uri": .string(uri),
                "expires_in": .number(.init(context.configuration.pushedRequestLifetime)),
            ]
            return .json(context.edited(document), .created)
        }
    }

    /// Checks the request as the authorization endpoint does, but returns all errors to the client (RFC 9126 §2.1 step
    /// 3).
    private func authorization(
        _ form: Parameters, _ client: RegisteredClient
    ) throws(OAuthFailure) -> AuthorizationRequest {
        let parameters = try RequestObject.pushed(form.without(ClientAuthentication.parameters), by: client)
        do throws(AuthorizationRefusal) {
            return try AuthorizationRequest(parameters, context)
        } catch {
            throw error.failure
        }
    }
}
