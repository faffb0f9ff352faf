internal import FoundationEssentials
package import HTTPTypes

/// How the client proves who it is at the token endpoint and its siblings (RFC 6749 §2.3, OpenID Connect Core §9).
public enum ClientAuthentication: Sendable, Hashable {
    /// A public client: it only names itself. Right for an app that people install, since a secret in it is none
    /// (RFC 8252 §8.5); PKCE protects its codes.
    case none
    /// HTTP Basic with id and secret, each form-encoded first (RFC 6749 §2.3.1).
    case clientSecretBasic(Secret)
    /// Id and secret in the form body (RFC 6749 §2.3.1): for servers that do not know the other.
    case clientSecretPost(Secret)

    /// The method by its registered name (OpenID Connect Core §9).
    public var method: String {
        switch self {
        case .none: "none"
        case .clientSecretBasic: "client_secret_basic"
        case .clientSecretPost: "client_secret_post"
        }
    }

    /// The client secret, if there is one.
    public var secret: Secret? {
        switch self {
        case .none: nil
        case .clientSecretBasic(let secret), .clientSecretPost(let secret): secret
        }
    }

    /// Authentication with a secret by the method that the provider supports: Basic, unless it lists the other alone.
    public static func secret(_ secret: Secret, for provider: ProviderMetadata) -> ClientAuthentication {
        let methods = provider.tokenEndpointAuthMethods ?? ["client_secret_basic"]
        return !methods.contains("client_secret_basic") && methods.contains("client_secret_post")
            ? .clientSecretPost(secret) : .clientSecretBasic(secret)
    }

    /// Adds what the method needs to a request.
    package func apply(clientID: String, to form: inout FormParameters, _ fields: inout HTTPFields) {
        switch self {
        case .none: form.append("client_id", clientID)
        case .clientSecretBasic(let secret):
            let pair = FormParameters.encode(clientID) + ":" + FormParameters.encode(secret.reveal())
            fields[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
        case .clientSecretPost(let secret):
            form.append("client_id", clientID)
            form.append("client_secret", secret.reveal())
        }
    }
}

extension ClientAuthentication: Codable {
    private enum CodingKeys: String, CodingKey { case method, secret }

    /// Reads `{"method":"client_secret_basic","secret":"…"}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .method) {
        case "none": self = .none
        case "client_secret_basic": self = .clientSecretBasic(try container.decode(Secret.self, forKey: .secret))
        case "client_secret_post": self = .clientSecretPost(try container.decode(Secret.self, forKey: .secret))
        default:
            throw DecodingError.dataCorruptedError(
                forKey: .method, in: container, debugDescription: "expected a known client authentication method")
        }
    }

    /// Writes method and secret.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(method, forKey: .method)
        try container.encodeIfPresent(secret, forKey: .secret)
    }
}
