internal import HTTPTypes
internal import JOSE

/// Leads each request to its endpoint, past the log, the holds and the faults.
struct Router: Sendable {
    let context: Context
    let log: RequestLog
    let plan: FaultPlan
    let holds: Holds

    func answer(to request: Request) async throws -> (Reply, Delivery) {
        let endpoint = context.issuer.endpoint(at: request.path)
        var logged = LoggedRequest(request, at: endpoint)
        let index = log.add(logged)
        var context = context
        context.faults = plan.take(endpoint)
        try await holds.pass(endpoint, .request)
        if let latency = context.configuration.latency[endpoint] { try await Task.sleep(for: latency) }
        for case .delay(let duration) in context.faults { try await Task.sleep(for: duration) }

        var reply = context.refusesToAct ?? reply(to: request, endpoint, context)
        reply.headers[.date] = context.now.httpDate
        for fault in context.faults { fault.change(&reply) }
        try await holds.pass(endpoint, .answer)
        let delivery = context.faults.lazy.compactMap(\.delivery).first ?? .whole
        logged.status = reply.status.code
        if let index { log.setStatus(reply.status.code, at: index) }
        context.configuration.observer?(logged)
        return (reply, delivery)
    }

    private func reply(to request: Request, _ endpoint: Endpoint, _ context: Context) -> Reply {
        // A page on another host name that points at this address (DNS rebinding) gets nothing.
        guard context.issuer.isMeant(by: request.host) else {
            return Reply(.misdirectedRequest, type: "text/plain; charset=utf-8", "Expected \(context.issuer.origin).\n")
        }
        do {
            return try Self.answer(to: request, endpoint, context)
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
        case .keys:
            documents.answer(to: request, context.keys.document, cacheControl: configuration.keysCacheControl)
        case .authorization: try AuthorizationEndpoint(context: context).answer(to: request)
        case .interaction: try InteractionEndpoint(context: context).answer(to: request)
        case .token: try TokenEndpoint(context: context).answer(to: request)
        case .userInfo: try UserInfoEndpoint(context: context).answer(to: request)
        case .api: EchoEndpoint(context: context).answer(to: request)
        case .revocation: try RevocationEndpoint(context: context).answer(to: request)
        case .introspection: try IntrospectionEndpoint(context: context).answer(to: request)
        case .endSession: EndSessionEndpoint(context: context).answer(to: request)
        case .deviceAuthorization: try DeviceAuthorizationEndpoint(context: context).answer(to: request)
        case .deviceVerification: try DeviceVerificationEndpoint(context: context).answer(to: request)
        case .none: Pages(context: context).error("There is nothing at this address.", .notFound)
        }
    }
}

extension Context {
    /// The answer of a fault that keeps the provider from acting.
    fileprivate var refusesToAct: Reply? {
        for case .answer(let reply) in faults { return reply }
        return nil
    }
}

extension Issuer {
    /// Whether a Host field names this provider: its own authority, or another loopback name with its port.
    fileprivate func isMeant(by host: String) -> Bool {
        let port = origin.split(separator: ":").last ?? ""
        return ["127.0.0.1", "[::1]", "localhost"].contains { host.lowercased() == "\($0):\(port)" }
            || "http://" + host == origin
    }
}
