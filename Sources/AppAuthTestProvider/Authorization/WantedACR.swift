extension AuthorizationChecks {
    /// Returns the accepted authentication contexts, the preferred one first; empty if any is accepted. An essential
    /// acr that is not supported is an error (Core §5.5.1.1). Unknown `acr_values` are ignored, because they are only a
    /// preference (Core §3.1.2.1).
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
    /// Returns whether the user must sign in again with another authentication context (RFC 9470 §5).
    func isTooWeak(_ signIn: Browser.SignIn) -> Bool {
        !request.acrs.isEmpty && !request.acrs.contains(signIn.acr)
    }
}
