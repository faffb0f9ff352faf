internal import JOSE

/// What a refresh names besides the refresh token. RFC 6749 §6 and RFC 8707 §2.2 leave both to the client, and servers
/// disagree: a session learns what its server wants.
package struct RefreshForm: Sendable, Hashable {
    /// Whether a refresh for everything that was granted names the scopes; nil until the server has said what it wants.
    package var hasScope: Bool?
    /// Whether it names the resources of the sign-in, if the server is theirs.
    package var hasResources = true

    package init() {}

    /// Returns the parameters of a refresh.
    ///
    /// - Parameters:
    ///   - wanted: What the caller wants.
    ///   - scope: The granted scopes.
    ///   - withheld: The scopes that were requested and, as the server says, not granted.
    ///   - resources: The resources of the sign-in.
    package func parameters(
        _ wanted: TokenParameters, scope: [Scope], withheld: [Scope] = [], resources: [String],
        at provider: ProviderMetadata
    ) -> TokenParameters {
        var parameters = wanted
        let isEntra = Self.isEntra(provider)
        if hasScope ?? isEntra, wanted.scope == nil, !scope.isEmpty {
            parameters.scope = isEntra ? Self.entra(scope, withheld) : scope
        }
        if hasResources, wanted.resources.isEmpty, provider.servesResource, !isEntra {
            parameters.resources = resources
        }
        return parameters
    }

    /// Returns the form of another request after this one was refused; nil if that could not help. A refusal for one of
    /// these reasons does not use up the refresh token.
    ///
    /// - Parameters:
    ///   - sent: The parameters of the request that was refused.
    ///   - wanted: What the caller wants.
    ///   - scope: The granted scopes.
    package func after(
        _ error: AuthError, to sent: TokenParameters, wanted: TokenParameters, scope: [Scope]
    ) -> RefreshForm? {
        guard error.outcome == .refused, !error.isTemporary, let server = error.server else { return nil }
        let description = server.errorDescription ?? ""
        // Entra names no parameter with the first: the app asks for a token for itself.
        let isAboutScope =
            description.contains("AADSTS90009")
            || ["invalid_scope", "invalid_request"].contains(server.error) && description.lowercased().contains("scope")
        var form = self
        if server.error == "invalid_target", sent.resources != wanted.resources {
            form.hasResources = false
        } else if isAboutScope, !scope.isEmpty, sent.scope == nil || sent.scope != wanted.scope {
            form.hasScope = sent.scope == nil
        }
        return form == self ? nil : form
    }

    /// The hosts of Entra ID. Its version 2 refuses `resource` in a refresh. One without `scope` may get a token for another API:
    /// if the client is the API too, for the client itself.
    private static let hostsOfEntra = [
        "login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", ".ciamlogin.com",
    ]

    /// Entra does not name the scopes that it grants for itself. `.default`, which stands for all of an API, it repeats beside
    /// them, and takes alone.
    private static func entra(_ scope: [Scope], _ withheld: [Scope]) -> [Scope] {
        let own = (scope + withheld).filter { [.openID, .profile, .email, .offlineAccess].contains($0) }
        let ofAPI = scope.filter { !own.contains($0) }
        let all = ofAPI.filter { $0.rawValue.hasSuffix("/.default") }
        return (all.isEmpty ? ofAPI : all) + own
    }

    private static func isEntra(_ provider: ProviderMetadata) -> Bool {
        let url = provider.issuer.url
        return url.path.hasSuffix("/v2.0")
            && hostsOfEntra.contains { $0.hasPrefix(".") ? url.host.hasSuffix($0) : url.host == $0 }
    }
}
