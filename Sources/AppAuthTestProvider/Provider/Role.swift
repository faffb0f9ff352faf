/// A part of a provider. Each can have an origin of its own, with cookies of its own.
package enum Role: Sendable, Hashable, CaseIterable {
    /// The provider itself: metadata, tokens and sessions.
    case issuer
    /// The provider's API.
    case api
    /// The pages on which users sign in and consent.
    case interaction
    /// A service of another company with which users can sign in.
    case external
}
