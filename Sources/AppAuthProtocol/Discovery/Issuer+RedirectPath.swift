internal import JOSE

extension Issuer {
    /// Returns a redirect path that belongs to this issuer: a component that is derived from the issuer, and the base.
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
    /// The component comes first: some providers also accept a path below the registered one, which for another client
    /// is often `/callback`.
    ///
    /// - Parameter base: What all issuers share: a path, or a redirect URI.
    public func redirectPath(for base: String = "/callback") -> String {
        let start = Self.startOfPath(base)
        return "\(base[..<start])/\(redirectComponent)\(base[start...])"
    }

    /// Whether the path of a redirect URI begins with this issuer's component.
    package func owns(redirectURI uri: String) -> Bool {
        uri[Self.startOfPath(uri)...].hasPrefix("/\(redirectComponent)/")
    }

    /// Returns a redirect URI without this issuer's component: what ``redirectPath(for:)`` was called with.
    package func redirectBase(of uri: String) -> String {
        owns(redirectURI: uri) ? uri.replacing("/\(redirectComponent)", with: "", maxReplacements: 1) : uri
    }

    private static func startOfPath(_ uri: String) -> String.Index {
        guard !uri.hasPrefix("/"), let colon = uri.firstIndex(of: ":") else { return uri.startIndex }
        let rest = uri[colon...].dropFirst()
        return (rest.hasPrefix("//") ? rest.dropFirst(2).firstIndex(of: "/") : rest.startIndex) ?? uri.endIndex
    }

    /// 128 bits of a digest, so that no issuer can choose its URL to have the component of another one.
    private var redirectComponent: String { Base64URL.encode(Array(Digest.sha256.hash(string).prefix(16))) }
}
