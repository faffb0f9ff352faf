/// Claims about a user from a source other than the provider (OpenID Connect Core §5.6.2), read by
/// ``ClaimSourceReader``.
public struct SourcedClaims: Sendable, Hashable {
    /// The name of the source.
    public let source: String
    /// The issuer of the claims, only alleged unless ``isVerified``; nil if they name none.
    public let issuer: String?
    /// Whether an issuer that the app trusts signed the claims. If not, they are only as trustworthy as the provider
    /// that named the source: whichever server responds there can have made them.
    public let isVerified: Bool
    /// The claims that the provider takes from this source.
    public let claims: Claims
}
