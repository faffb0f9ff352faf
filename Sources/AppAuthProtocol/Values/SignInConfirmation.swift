/// What the user must agree to before a sign-in at an authorization server that a resource names, and not the user.
///
/// Such a server can lead the user to another one, with a client that is known there. The user then signs in at the
/// other server, which sends its code to this app, and the app sends it on to the server that the resource named (RFC
/// 9700 §4.4, the mix-up attack). Show the user all hosts. If the user agrees, set the value as
/// ``AuthorizationRequest/Options/confirmed``:
///
/// ```swift
/// do { state = try await signIn.run(store: store) } catch let error as AuthError {
///     guard let question = error.confirmation, await userAgrees(to: question) else { throw error }
///     signIn.options.confirmed = question
///     state = try await signIn.run(store: store)
/// }
/// ```
public struct SignInConfirmation: Sendable, Hashable {
    /// The resource that named the issuer.
    public let resource: SecureURL
    /// The issuer, which gets the code.
    public let issuer: SecureURL
    /// The issuer's endpoints for this sign-in that are not on its own origin: pages, and servers that get a code or
    /// issue a token.
    public let elsewhere: [SecureURL]
    /// Whether another provider may know the same client with the same redirect URI, so that the issuer's page can lead to
    /// that provider's page.
    public let isClientShared: Bool

    /// - Parameter endpoints: All endpoints for this sign-in.
    package init(resource: SecureURL, issuer: SecureURL, endpoints: [SecureURL], isClientShared: Bool = false) {
        (self.resource, self.issuer, self.isClientShared) = (resource, issuer, isClientShared)
        elsewhere = endpoints.reduce(into: []) { found, url in
            if url.origin != issuer.origin, !found.contains(url) { found.append(url) }
        }
    }

    /// The hosts of ``elsewhere``, each once; nil if there are none.
    package var hostsElsewhere: String? {
        elsewhere.isEmpty ? nil : Set(elsewhere.map(\.shownHost)).sorted().joined(separator: " and ")
    }

    /// What the user agrees to, for messages.
    package var summary: String {
        let issuer = issuer.shownHost
        let shared = isClientShared ? "can lead to another provider that knows the same client" : nil
        let danger = [hostsElsewhere.map { "uses \($0)" }, shared].compactMap(\.self).joined(separator: " and ")
        return "the resource at \(resource.shownHost) names the authorization server \(issuer), which \(danger), and "
            + "nothing will show that the response comes from \(issuer)"
    }
}
