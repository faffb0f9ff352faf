internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The endpoint `POST /oauth/access_token`: a form, with the client's credentials in the body.
struct MoltinTokenEndpoint: Sendable {
    let configuration: Moltin.Configuration
    let tokens: MoltinTokens

    func respond(to request: Request) throws(MoltinFailure) -> Reply {
        guard request.method == .post else { throw MoltinFailure(.methodNotAllowed, "Expected POST") }
        let form: Parameters
        do throws(FormProblem) { form = try request.plainForm() } catch { throw MoltinFailure(error.reason) }
        // The client's credentials are only in the body.
        guard request.headers[.authorization] == nil else { throw .wrongClient }
        guard let grant = form["grant_type"] else { throw MoltinFailure("The request does not say what it wants") }
        switch grant {
        case "client_credentials":
            try checkSecret(form)
            return try issue(grant, withRefreshToken: configuration.refreshesClientCredentials)
        case "implicit":
            // Moltin's name for a read-only grant: with the client's id alone, as apps send it, or with the secret too,
            // as the documentation lists it for every grant.
            if form["client_secret"] == nil { try checkID(form) } else { try checkSecret(form) }
            return try issue(grant, withRefreshToken: false)
        case "refresh_token":
            try checkSecret(form)
            guard let token = form["refresh_token"], tokens.spend(refreshToken: token) else {
                throw MoltinFailure("This cannot be exchanged for a new token")
            }
            return try issue(grant, withRefreshToken: true)
        case "authorization_code":
            try checkSecret(form)
            guard let code = form["code"], form["redirect_uri"] == configuration.redirectURI,
                tokens.spend(code: code)
            else { throw MoltinFailure("The code was used before, or is for another address") }
            return try issue(grant, withRefreshToken: true)
        default: throw MoltinFailure("The request wants something unknown")
        }
    }

    private func checkID(_ form: Parameters) throws(MoltinFailure) {
        guard form["client_id"] == configuration.clientID else { throw .wrongClient }
    }

    private func checkSecret(_ form: Parameters) throws(MoltinFailure) {
        try checkID(form)
        guard constantTimeEqual(form["client_secret"] ?? "", configuration.clientSecret) else { throw .wrongClient }
    }

    /// Responds with tokens. Beyond RFC 6749 §5.1, there are `identifier`, the name of the grant, and `expires`, the
    /// end in seconds since 1970.
    private func issue(_ grant: String, withRefreshToken: Bool) throws(MoltinFailure) -> Reply {
        guard let issued = try? tokens.issue(withRefreshToken: withRefreshToken) else {
            throw MoltinFailure(.internalServerError, "No token could be made")
        }
        var document = JSON.Object()
        document["access_token"] = .string(issued.accessToken)
        document["token_type"] = "Bearer"
        document["identifier"] = .string(grant)
        document["expires"] = .number(.init(issued.expiresAt.seconds))
        document["expires_in"] = .number(.init(tokens.lifetime))
        document["refresh_token"] = issued.refreshToken.map(JSON.string)
        return Reply.json(.object(document)).notStored
    }
}
