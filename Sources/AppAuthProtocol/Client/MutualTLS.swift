extension Client {
    /// Whether the transport has to show a certificate (RFC 8705): to authenticate, or to bind the tokens to it.
    public var usesMutualTLS: Bool {
        switch authentication {
        case .tlsClientAuth, .selfSignedTLSClientAuth: true
        default: bindsTokensToCertificate
        }
    }

    /// The URL of an endpoint for this client; nil if the provider has none. With mutual TLS it is the provider's place for
    /// that, where it has one (RFC 8705 §5).
    package subscript(endpoint: ProviderMetadata.Endpoint) -> SecureURL? {
        (usesMutualTLS ? provider.mutualTLSAlias(of: endpoint) : nil) ?? provider[endpoint]
    }

    /// The URL of an endpoint that is needed.
    ///
    /// - Throws: As ``ProviderMetadata/require(_:)``.
    package func require(_ endpoint: ProviderMetadata.Endpoint) throws -> SecureURL {
        if usesMutualTLS, let alias = try provider.alias(of: endpoint) { return alias }
        return try provider.require(endpoint)
    }
}

extension ProviderMetadata {
    /// Where clients with a certificate find an endpoint (RFC 8705 §5); nil where it is the same as for others.
    public func mutualTLSAlias(of endpoint: Endpoint) -> SecureURL? { (try? alias(of: endpoint)) ?? nil }

    fileprivate func alias(of endpoint: Endpoint) throws -> SecureURL? {
        try url(document[Self.aliases]?[endpoint.rawValue], of: "\(Self.aliases).\(endpoint.rawValue)")
    }

    /// Whether the provider can bind access tokens to a client's certificate (RFC 8705 §3.3).
    public var bindsAccessTokensToCertificates: Bool {
        document["tls_client_certificate_bound_access_tokens"]?.bool ?? false
    }
}
