/// What the user must agree to before a sign-in at an authorization server that a resource names, and not the user.
///
/// Such a server can name the page of another one, with a client that is known there. The user then signs in at the
/// other server, which sends its code to this app, and the app sends it on to the server that the resource named (RFC
/// 9700 §4.4, the mix-up attack). Show the user all three hosts. If the user agrees, set the value as
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
    /// The page at which the user signs in.
    public let page: SecureURL

    package init(resource: SecureURL, issuer: SecureURL, page: SecureURL) {
        (self.resource, self.issuer, self.page) = (resource, issuer, page)
    }
}
