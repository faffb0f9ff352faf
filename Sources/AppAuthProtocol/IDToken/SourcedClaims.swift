/// Claims that somebody else than the provider makes about a person (OpenID Connect Core §5.6.2): they come from
/// ``ClaimSourceReader``.
public struct SourcedClaims: Sendable, Hashable {
    /// The source that they are from.
    public let source: String
    /// Who makes them, by their own word unless ``isVerified``; nil if they do not say.
    public let issuer: String?
    /// Whether their signature is that of an issuer that the app trusts. If not, they are worth as much as the word of
    /// the provider that named the source: whoever answers there can have made them.
    public let isVerified: Bool
    /// The claims, of those that the provider takes from this source.
    public let claims: Claims
}
