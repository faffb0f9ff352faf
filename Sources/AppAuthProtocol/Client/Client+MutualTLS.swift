extension Client {
    /// Whether the transport must present a certificate (RFC 8705), to authenticate or to bind the tokens to it.
    public var usesMutualTLS: Bool {
        switch authentication {
        case .tlsClientAuth, .selfSignedTLSClientAuth: true
        default: bindsTokensToCertificate
        }
    }

    /// The URL of an endpoint for this client; nil if the provider has none. With mutual TLS, the provider's alias for
    /// it, if there is one (RFC 8705 §5).
    package subscript(endpoint: ProviderMetadata.Endpoint) -> SecureURL? {
        (usesMutualTLS ? provider.mutualTLSAlias(of: endpoint) : nil) ?? provider[endpoint]
    }

    /// Returns the URL of an endpoint; nil if the provider names none.
    ///
    /// - Throws: As ``ProviderMetadata/require(_:)``.
    package func url(of endpoint: ProviderMetadata.Endpoint) throws -> SecureURL? {
        if usesMutualTLS, let alias = try provider.alias(of: endpoint) { return alias }
        return try provider.url(of: endpoint)
    }

    /// Returns the URL of a required endpoint.
    ///
    /// - Throws: As ``ProviderMetadata/require(_:)``.
    package func require(_ endpoint: ProviderMetadata.Endpoint) throws -> SecureURL {
        try url(of: endpoint) ?? provider.require(endpoint)
    }
}

extension ProviderMetadata {
    /// Returns the URL of an endpoint for clients with a certificate (RFC 8705 §5); nil if it is the usual one.
    public func mutualTLSAlias(of endpoint: Endpoint) -> SecureURL? { (try? alias(of: endpoint)) ?? nil }

    fileprivate func alias(of endpoint: Endpoint) throws -> SecureURL? {
        try url(endpoint.rawValue, in: document[Self.aliases]?.object, as: Self.aliases + ".")
    }

    /// Whether the provider can bind access tokens to a client's certificate (RFC 8705 §3.3).
    public var bindsAccessTokensToCertificates: Bool {
        document["tls_client_certificate_bound_access_tokens"]?.bool ?? false
    }
}
