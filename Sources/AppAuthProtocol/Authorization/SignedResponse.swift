internal import FoundationEssentials
internal import JOSE

// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM).

extension AuthorizationRequest {
    /// The token of a signed response, if its state is this request's. Nothing else of it is looked at before its signature.
    func signedResponse(in parameters: FormParameters) -> Secret? {
        parameters.values("response").lazy.filter { token in
            guard let payload = try? JWS(compact: token).payload,
                let found = try? JSON(parsing: payload)["state"]?.string
            else { return false }
            return constantTimeEqual(found, state.reveal())
        }.first.map { Secret($0) }
    }
}
