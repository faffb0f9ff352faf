internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes

/// The authorization endpoint (RFC 6749 §3.1), with GET and POST (OpenID Connect Core §3.1.2.1).
struct AuthorizationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        let parameters: Parameters
        switch request.method {
        case .get: parameters = request.query
        case .post:
            guard let form = request.form else {
                return Pages(context: context).error("Expected the parameters as a form in the body.", .badRequest)
            }
            parameters = form
        default: return .notAllowed("GET, POST")
        }
        do {
            return try begin(PushedRequests(context: context).request(parameters), request)
        } catch let refusal as AuthorizationRefusal {
            let failure = refusal.failure
            guard let wayBack = refusal.wayBack else { return Pages(context: context).refusal(failure.description) }
            return try AuthorizationReply(context: context).refuse(wayBack, failure.code, failure.description)
        }
    }

    private func begin(_ authorization: AuthorizationRequest, _ request: Request) throws -> Reply {
        let cookie = context.cookie(of: .issuer)
        let known = cookie.id(in: request).flatMap { id in context.store.withLock { $0.browser(id, context.now) } }
        let browser = try known ?? Browser(id: OpaqueToken.make(), expiresAt: lifetimeEnd)
        let interaction = Interaction(
            id: try OpaqueToken.make(), request: authorization, expiresAt: context.now.adding(Interaction.lifetime),
            browserID: browser.id, signIn: browser.signIn)
        let response = AuthorizationReply(context: context)
        switch context.step(of: interaction, browser) {
        case .finish(let signIn): return try response.grant(authorization, to: signIn)
        case .fail(let error, let description): return try response.refuse(authorization.wayBack, error, description)
        case .signIn, .chooseAccount, .consent:
            context.store.withLock { records in
                records.browsers[browser.id] = browser
                records.interactions[interaction.id] = interaction
            }
            // The pages have a URL of their own, so that the request is not in the history and a reload is harmless.
            var reply = Reply.redirect(to: context.page(of: interaction))
            if known == nil { reply.headers[.setCookie] = cookie.set(browser.id) }
            return reply
        }
    }

    private var lifetimeEnd: Date { context.now.adding(context.configuration.sessionLifetime) }
}

extension Context {
    func step(of interaction: Interaction, _ browser: Browser) -> Interaction.Step {
        let consented = store.withLock { records in
            browser.signIn.flatMap {
                records.consents[.init(subject: $0.subject, clientID: interaction.request.client.id)]
            }
        }
        return interaction.step(browser.signIn, consented: consented ?? [], self)
    }
}

extension Records {
    /// Returns the browser with this cookie, unless it has expired.
    func browser(_ id: String, _ now: Date) -> Browser? { browsers[id].flatMap { $0.expiresAt > now ? $0 : nil } }
}
