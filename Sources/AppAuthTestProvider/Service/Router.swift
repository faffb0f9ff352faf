internal import HTTPTypes
internal import JOSE

/// The router of requests to their endpoints.
struct Router: Sendable {
    let context: Context
    let traffic: Traffic

    func respond(to request: Request, on role: Role) async throws -> (Reply, Delivery) {
        let found =
            context.configuration.addition?.endpoint(at: request.path, context.issuer)
            ?? context.issuer.endpoint(at: request.path)
        // Each origin has only the endpoints of its part.
        let endpoint = context.role(of: found) == role ? found : .none
        return try await traffic.pass(request, at: endpoint) { faults in
            var context = context
            context.faults = faults
            return await reply(to: request, on: role, endpoint, context)
        }
    }

    private func reply(to request: Request, on role: Role, _ endpoint: Endpoint, _ context: Context) async -> Reply {
        // A page on another host name that resolves to this address (DNS rebinding) gets no response.
        let origin = context.origin(of: role)
        guard request.isMeant(for: origin) else { return .misdirected(from: origin) }
        if let refusal = await ClientDocuments(context: context).load(for: request, at: endpoint) { return refusal }
        do {
            let reply = context.configuration.translation(
                try Self.respond(to: request, endpoint, context), request, endpoint)
            return try DPoP(context: context).accompany(reply, at: endpoint)
        } catch {
            return Reply(.internalServerError, type: "text/plain; charset=utf-8", "\(error)\n")
        }
    }

    private static func respond(to request: Request, _ endpoint: Endpoint, _ context: Context) throws -> Reply {
        let (documents, configuration) = (DocumentEndpoint(context: context), context.configuration)
        return switch endpoint {
        case .openIDConfiguration:
            documents.respond(
                to: request, Metadata.openID(context), cacheControl: configuration.metadataCacheControl)
        case .oauthMetadata:
            documents.respond(to: request, Metadata.oauth(context), cacheControl: configuration.metadataCacheControl)
        case .webFinger: WebFingerEndpoint(context: context).respond(to: request)
        case .keys:
            try documents.respond(to: request, context.keys.document, cacheControl: configuration.keysCacheControl)
        case .authorization: try AuthorizationEndpoint(context: context).respond(to: request)
        case .interaction: try InteractionEndpoint(context: context).respond(to: request)
        case .resume: try ResumeEndpoint(context: context).respond(to: request)
        case .token: try TokenEndpoint(context: context).respond(to: request)
        case .userInfo: try UserInfoEndpoint(context: context).respond(to: request)
        case .api: EchoEndpoint(context: context).respond(to: request)
        case .resourceMetadata:
            configuration.resourceDescription.map {
                documents.respond(to: request, $0.document(context), cacheControl: nil)
            } ?? Pages(context: context).error("There is nothing at this address.", .notFound)
        case .revocation: try RevocationEndpoint(context: context).respond(to: request)
        case .introspection: try IntrospectionEndpoint(context: context).respond(to: request)
        case .endSession: try EndSessionEndpoint(context: context).respond(to: request)
        case .pushedAuthorization: try PushedAuthorizationEndpoint(context: context).respond(to: request)
        case .deviceAuthorization: try DeviceAuthorizationEndpoint(context: context).respond(to: request)
        case .clientRegistration: try RegistrationEndpoint(context: context).respond(to: request)
        case .clientConfiguration: try ClientConfigurationEndpoint(context: context).respond(to: request)
        case .backchannelAuthentication: try BackchannelAuthenticationEndpoint(context: context).respond(to: request)
        case .foreignClaims: try ForeignClaimsEndpoint(context: context).respond(to: request)
        case .picture: PictureEndpoint(context: context).respond(to: request)
        case .deviceVerification: try DeviceVerificationEndpoint(context: context).respond(to: request)
        default:
            try context.configuration.addition?.respond(to: request, at: endpoint, context)
                ?? Pages(context: context).error("There is nothing at this address.", .notFound)
        }
    }
}

extension Request {
    /// Returns whether the Host field names an origin of this machine: its own authority, or another loopback name with
    /// its port.
    func isMeant(for origin: String) -> Bool {
        let port = origin.split(separator: ":").last ?? ""
        return ["127.0.0.1", "[::1]", "localhost"].contains { host.lowercased() == "\($0):\(port)" }
            || origin.hasSuffix("://" + host)
    }
}

extension Reply {
    /// A 421 response (RFC 9110 §15.5.20).
    static func misdirected(from origin: String) -> Reply {
        Reply(.misdirectedRequest, type: "text/plain; charset=utf-8", "Expected \(origin).\n")
    }
}
