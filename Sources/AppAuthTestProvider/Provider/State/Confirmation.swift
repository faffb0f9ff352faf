internal import JOSE

/// The key or certificate that the user of a code or token must prove (RFC 7800 §3.1), by its thumbprint.
enum Confirmation: Sendable, Hashable {
    /// A key (RFC 9449 §6.1).
    case key(String)
    /// A certificate, presented on the connection (RFC 8705 §3.1).
    case certificate(String)

    init(certificate der: [UInt8]) { self = .certificate(Base64URL.encode(Digest.sha256.hash(der))) }

    var json: JSON {
        switch self {
        case .key(let thumbprint): ["jkt": .string(thumbprint)]
        case .certificate(let thumbprint): ["x5t#S256": .string(thumbprint)]
        }
    }
}

extension Confirmation? {
    /// The `token_type` of a token with this binding (RFC 6749 §7.1, RFC 9449 §5, RFC 8705 §3).
    var tokenType: String { if case .key = self { "DPoP" } else { "Bearer" } }
}

extension Context {
    /// Rejects a code or a refresh token that is bound to another key than this request proves (RFC 9449 §5, §10).
    func check(_ bound: Confirmation?, of what: String) throws(OAuthFailure) {
        guard bound == nil || bound == confirmation else {
            throw .invalidGrant("\(what) is bound to a key that this request does not prove")
        }
    }
}

extension Confirmation {
    /// Adds the metadata of RFC 8705 §3.3.
    static func describe(_ document: inout JSON.Object, _ context: Context) {
        guard context.configuration.tls != nil else { return }
        document["tls_client_certificate_bound_access_tokens"] = true
    }
}
