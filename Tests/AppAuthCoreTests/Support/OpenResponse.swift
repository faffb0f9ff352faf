import AppAuthProtocol

extension AuthorizationResponse {
    /// The code of an unsigned response; otherwise empty.
    var code: Secret {
        guard case .open(let grant) = content else { return Secret("") }
        return grant.code
    }

    /// The ID token beside the code of an unsigned response.
    var idToken: Secret? {
        guard case .open(let grant) = content else { return nil }
        return grant.idToken
    }
}
