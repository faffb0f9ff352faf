import AppAuthProtocol

extension AuthorizationResponse {
    /// The code of a response that is not signed; empty otherwise.
    var code: Secret {
        guard case .open(let grant) = content else { return Secret("") }
        return grant.code
    }

    /// The ID token beside the code of a response that is not signed.
    var idToken: Secret? {
        guard case .open(let grant) = content else { return nil }
        return grant.idToken
    }
}
