import AppAuthServer
import AppAuthProtocol
import JOSE
import AppAuthTestProvider
import Testing

/// How a plan of the OpenID Foundation has its relying party sign in. A module that stands in several plans is run in each
/// of them, and the log of the run names them.
struct Plan: Sendable, CustomTestStringConvertible {
    enum Profile: Sendable {
        /// OpenID Connect Core, with a secret.
        case openID
        /// The same, with a client that registers itself.
        case dynamic
        /// OpenID Connect Core by TLS, with tokens bound to the client's certificate.
        case mutualTLS
        /// Financial-grade API 1.0 Advanced: a key, signed requests, and tokens bound to the client's certificate.
        case fapi1
        /// FAPI Client-Initiated Backchannel Authentication, with the same but the signed requests.
        case fapiCIBA
        /// FAPI 2.0 Security Profile: a key, pushed requests, and tokens bound to a key.
        case fapi2
        /// FAPI 2.0 Message Signing: the requests are signed too.
        case fapi2Signed
    }

    let testDescription: String
    let profile: Profile
    private(set) var responseType = AuthorizationRequest.ResponseType.code
    private(set) var responseMode: AuthorizationRequest.ResponseMode?
    /// Whether the provider has endpoints of their own for clients with a certificate, where it has such clients.
    private(set) var hasEndpointAliases = true

    init(
        _ name: String, _ profile: Profile = .openID, _ responseType: AuthorizationRequest.ResponseType = .code,
        by responseMode: AuthorizationRequest.ResponseMode? = nil
    ) {
        (testDescription, self.profile, self.responseType, self.responseMode) = (
            name, profile, responseType, responseMode
        )
    }

    /// The same with a provider that has the usual endpoints alone.
    var withoutEndpointAliases: Plan {
        var plan = self
        plan.hasEndpointAliases = false
        return plan
    }

    static let basic = Plan("Basic")
    static let formPost = Plan("Form Post", by: .formPost)
    static let hybrid = Plan("Hybrid", .openID, .codeIDToken, by: .formPost)
    static let config = Plan("Config")
    static let dynamic = Plan("Dynamic", .dynamic)
    static let comprehensive = Plan("Comprehensive")
    static let comprehensiveByTLS = Plan("Comprehensive", .mutualTLS)
    static let refreshToken = Plan("Refresh Token")
    static let rpInitiatedLogout = Plan("RP-Initiated Logout")
    static let frontChannelLogout = Plan("Front-Channel Logout")
    static let backChannelLogout = Plan("Back-Channel Logout")
    static let fapi1 = Plan("FAPI 1 Advanced", .fapi1, .codeIDToken, by: .formPost)
    static let fapi1JARM = Plan("FAPI 1 Advanced with JARM", .fapi1, by: .jwt)
    static let fapiCIBA = Plan("FAPI-CIBA", .fapiCIBA)
    static let fapi2 = Plan("FAPI 2 Security Profile", .fapi2)
    static let messageSigning = Plan("FAPI 2 Message Signing", .fapi2Signed)
    static let messageSigningJARM = Plan("FAPI 2 Message Signing with JARM", .fapi2Signed, by: .jwt)

    /// Whether the first ID token comes with the code, through the browser.
    var isHybrid: Bool { responseType == .codeIDToken }

    /// Whether the client signs, and with it the provider by the algorithms of the financial profiles.
    var isFinancial: Bool { ![.openID, .dynamic, .mutualTLS].contains(profile) }

    /// Whether the provider is spoken to by TLS, and the tokens are bound to the certificate that the client shows there
    /// (FAPI 1.0 Advanced §5.2.2).
    var bindsTokensToCertificate: Bool { [.mutualTLS, .fapi1, .fapiCIBA].contains(profile) }

    /// Where the session's tokens are used in the end.
    var destination: Endpoint { isFinancial ? .api : .userInfo }
}

// MARK: The client at the provider

extension Plan {
    static let clientID = "conformance"
    static let secret = "thirty-two bytes and more, none of them known"

    /// A provider that requires of the client what is in the plan.
    func configuration(_ key: SigningKey) -> LocalProvider.Configuration {
        var client = RegisteredClient(
            id: Self.clientID, secret: isFinancial ? nil : Self.secret, keys: isFinancial ? [key.publicKey] : [],
            redirectURIs: [.anyLoopback])
        if isFinancial { (client.idTokenAlgorithm, client.authorizationAlgorithm) = (.ps256, .ps256) }
        client.requiresDPoP = dpop != nil
        client.bindsTokensToCertificate = bindsTokensToCertificate
        if profile == .fapiCIBA { client.grantTypes.insert(GrantType.ciba.rawValue) }
        var configuration = LocalProvider.Configuration(clients: [client], users: [.alice])
        configuration.registration = profile == .dynamic ? DynamicRegistration() : nil
        configuration.requiresSignedRequestObjects = [.fapi1, .fapi2Signed].contains(profile)
        configuration.requiresPushedRequests = client.requiresDPoP
        configuration.dpopNonce = client.requiresDPoP ? .required() : .off
        return configuration
    }

    /// The provider's metadata: its algorithms (FAPI 1.0 Advanced §8.6, FAPI 2.0 Security Profile §5.4.1), and the endpoints
    /// for clients with a certificate (RFC 8705 §5). Here these are the same provider under another name.
    var metadata: Fault? {
        let (isFinancial, hasAliases) = (isFinancial, bindsTokensToCertificate && hasEndpointAliases)
        guard isFinancial || hasAliases else { return nil }
        return .editDocument { document in
            if isFinancial {
                for name in ["id_token_signing_alg_values_supported", "authorization_signing_alg_values_supported"] {
                    document[name] = ["PS256"]
                }
            }
            var aliases = JSON.Object()
            for name in ["token", "pushed_authorization_request", "backchannel_authentication"].map({ $0 + "_endpoint" }
            ) {
                aliases[name] = document[name]?.string.map { .string($0.replacing("127.0.0.1", with: "localhost")) }
            }
            if hasAliases { document["mtls_endpoint_aliases"] = .object(aliases) }
        }
    }

    /// The options of the client's request.
    var options: AuthorizationRequest.Options {
        var options = AuthorizationRequest.Options()
        (options.responseType, options.responseMode) = (responseType, responseMode)
        options.requiresStateHash = isHybrid && isFinancial
        return options
    }

    /// The kind of key that the tokens are bound to.
    var dpop: DPoPAlgorithm? { [.fapi2, .fapi2Signed].contains(profile) ? .es256 : nil }

    var authentication: ClientAuthentication {
        isFinancial ? .privateKeyJWT(keyNamed: "the client’s") : .clientSecretBasic(Secret(Self.secret))
    }
}
