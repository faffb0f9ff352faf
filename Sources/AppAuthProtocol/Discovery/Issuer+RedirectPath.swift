internal import JOSE

extension Issuer {
    /// Returns a redirect path that belongs to this issuer: the base, and a component that is derived from the issuer.
    ///
    /// RFC 9700 §4.4.2: if a provider's response does not name its issuer (RFC 9207), only its own redirect URI keeps a
    /// client from sending a code to another provider. An app that registers at providers that it does not know in
    /// advance registers this path, and listens to it:
    ///
    /// ```swift
    /// let path = provider.issuer.redirectPath()
    /// let metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1\(path)"], name: "My App")
    /// signIn.redirect.path = path
    /// ```
    /// - Parameter base: The part that all issuers share: a path, or a URI with a private-use scheme.
    public func redirectPath(under base: String = "/callback") -> String {
        base + (base.hasSuffix("/") ? "" : "/") + redirectComponent
    }

    /// Whether a redirect URI ends with this issuer's component.
    package func owns(redirectURI uri: String) -> Bool { uri.hasSuffix("/" + redirectComponent) }

    /// 128 bits of a digest, so that no issuer can choose its URL to have the component of another one.
    private var redirectComponent: String { Base64URL.encode(Array(Digest.sha256.hash(string).prefix(16))) }
}
