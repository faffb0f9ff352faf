internal import HTTPTypes
internal import JOSE

/// Leads each request to its endpoint.
struct Router: Sendable {
    let context: Context
    let traffic: Traffic

    func answer(to request: Request) async throws -> (Reply, Delivery) {
        let endpoint =
            context.configuration.addition?.endpoint(at: request.path, context.issuer)
            ?? context.issuer.endpoint(at: request.path)
        return try await traffic.pass(request, at: endpoint) { faults in
            var context = context
            context.faults = faults
            return reply(to: request, endpoint, context)
        }
    }

    private func reply(to request: Request, _ endpoint: Endpoint, _ context: Context) -> Reply {
        // A page on another host name that points at this address (DNS rebinding) gets nothing.
        guard request.isMeant(for: context.issuer.origin) else { return .misdirected(from: context.issuer.origin) }
        do {
            let reply = try Self.answer(to: request, endpoint, context)
            return try DPoP(context: context).accompany(reply, at: endpoint)
        } catch {
            return Reply(.internalServerError, type: "text/plain; charset=utf-8", "\(error)\n")
        }
    }

    private static func answer(to request: Request, _ endpoint: Endpoint, _ context: Context) throws -> Reply {
        let (documents, configuration) = (DocumentEndpoint(context: context), context.configuration)
        return switch endpoint {
        case .openIDConfiguration:
            documents.answer(
                to: request, Metadata.openID(context), cacheControl: configuration.metadataCacheControl)
        case .oauthMetadata:
            documents.answer(to: request, Metadata.oauth(context), cacheControl: configuration.metadataCacheControl)
        case .webFinger: WebFingerEndpoint(context: context).answer(to: request)
        case .keys:
            documents.answer(to: request, context.keys.document, cacheControl: configuration.keysCacheControl)
        case .authorization: try AuthorizationEndpoint(context: context).answer(to: request)
        case .interaction: try InteractionEndpoint(context: context).answer(to: request)
        case .token: try TokenEndpoint(context: context).answer(to: request)
        case .userInfo: try UserInfoEndpoint(context: context).answer(to: request)
        case .api: EchoEndpoint(context: context).answer(to: request)
        case .revocation: try RevocationEndpoint(context: context).answer(to: request)
        case .introspection: try IntrospectionEndpoint(context: context).answer(to: request)
        case .endSession: try EndSessionEndpoint(context: context).answer(to: request)
        case .pushedAuthorization: try PushedAuthorizationEndpoint(context: context).answer(to: request)
        case .deviceAuthorization: try DeviceAuthorizationEndpoint(context: context).answer(to: request)
        case .clientRegistration: try RegistrationEndpoint(context: context).answer(to: request)
        case .clientConfiguration: try ClientConfigurationEndpoint(context: context).answer(to: request)
        case .backchannelAuthentication: try BackchannelAuthenticationEndpoint(context: context).answer(to: request)
        case .foreignClaims: try ForeignClaimsEndpoint(context: context).answer(to: request)
        case .deviceVerification: try DeviceVerificationEndpoint(context: context).answer(to: request)
        default:
            try context.configuration.addition?.answer(to: request, at: endpoint, context)
                ?? Pages(context: context).error("There is nothing at this address.", .notFound)
        }
    }
}

extension Request {
    /// Whether the Host field names an origin of this machine: its own authority, or another loopback name with its port.
    func isMeant(for origin: String) -> Bool {
        let port = origin.split(separator: ":").last ?? ""
        return ["127.0.0.1", "[::1]", "localhost"].contains { host.lowercased() == "\($0):\(port)" }
            || origin.hasSuffix("://" + host)
    }
}

extension Reply {
    /// RFC 9110 §15.5.20.
    static func misdirected(from origin: String) -> Reply {
        Reply(.misdirectedRequest, type: "text/plain; charset=utf-8", "Expected \(origin).\n")
    }
}
