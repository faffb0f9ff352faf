package import AppAuthProtocol

extension AuthorizationResponse {
    /// The code of an unsigned response; otherwise empty.
    package var code: Secret {
        guard case .open(let grant) = content else { return Secret("") }
        return grant.code
    }

    /// The ID token beside the code of an unsigned response.
    package var idToken: Secret? {
        guard case .open(let grant) = content else { return nil }
        return grant.idToken
    }
}
