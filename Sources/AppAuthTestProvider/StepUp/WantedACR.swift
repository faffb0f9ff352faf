extension AuthorizationChecks {
    /// The ways to sign in that will do, the best first; empty for any. An essential acr that cannot be had is an error
    /// (Core §5.5.1.1); `acr_values` are a wish, and what nobody knows of them is left out (Core §3.1.2.1).
    func acrs(_ claims: ClaimsRequest) throws(OAuthFailure) -> [String] {
        let known = context.configuration.acrValues
        let essential = claims.essentialACRs.filter(known.contains)
        guard claims.essentialACRs.isEmpty || !essential.isEmpty else {
            throw OAuthFailure(
                "unmet_authentication_requirements", "expected an acr of \(known.joined(separator: ", "))")
        }
        return essential.isEmpty ? words("acr_values").filter(known.contains) : essential
    }
}

extension Interaction {
    /// Whether the person has to sign in once more, in another way (RFC 9470 §5).
    func isTooWeak(_ signIn: Browser.SignIn) -> Bool {
        !request.acrs.isEmpty && !request.acrs.contains(signIn.acr)
    }
}
