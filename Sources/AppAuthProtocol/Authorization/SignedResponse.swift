internal import FoundationEssentials
internal import JOSE

// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM).

extension AuthorizationRequest {
    /// Returns the token of a signed response, if its state is this request's. Nothing else is read before the
    /// signature is verified.
    func signedResponse(in parameters: FormParameters) -> Secret? {
        parameters.values("response").lazy.filter { token in
            guard let payload = try? JWS(compact: token).payload,
                let found = try? JSON(parsing: payload)["state"]?.string
            else { return false }
            return constantTimeEqual(found, state.reveal())
        }.first.map { Secret($0) }
    }
}
