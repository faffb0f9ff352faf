internal import AppAuthConcurrency
internal import HTTPTypes

/// The end-session endpoint (OpenID Connect RP-Initiated Logout §2): GET and POST, and the form of its question.
struct EndSessionEndpoint {
    let context: Context
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request) throws -> Reply {
        let parameters: Parameters
        switch request.method {
        case .get: parameters = request.query
        case .post:
            guard let form = request.form else {
                return pages.error("Expected the parameters as a form in the body.", .badRequest)
            }
            parameters = form
        default: return .notAllowed("GET, POST")
        }
        do {
            return try end(EndSessionRequest(parameters, context), parameters, request)
        } catch let refusal as EndSessionRequest.Refusal {
            return pages.refusal(refusal.reason)
        }
    }

    private func end(_ logout: EndSessionRequest, _ parameters: Parameters, _ request: Request) throws -> Reply {
        let now = context.now
        let browser = context.cookie(of: .issuer).id(in: request)
            .flatMap { id in context.store.withLock { $0.browser(id, now) } }
        guard let browser, let signIn = browser.signIn else { return done(logout) }
        // §2: without a hint, or with another user's, the user is asked, because any page can send a browser here.
        if logout.subject == signIn.subject { return try signOut(browser, signIn, logout) }
        let token = FormToken(context: context, browserID: browser.id, purpose: "end_session")
        guard request.method == .post, token.matches(parameters) else {
            return pages.signOutQuestion(parameters, logout, signIn, token)
        }
        guard parameters["action"] == "sign-out" else { return pages.stillSignedIn(logout.language) }
        return try signOut(browser, signIn, logout)
    }

    private func signOut(
        _ browser: Browser, _ signIn: Browser.SignIn, _ logout: EndSessionRequest
    ) throws -> Reply {
        context.store.withLock { records in
            records.browsers[browser.id] = nil
            records.interactions = records.interactions.filter { $0.value.browserID != browser.id }
        }
        let notices = ProviderLogout(signIn, context)
        try notices.send()
        return done(logout, showing: notices.frames)
    }

    private func done(_ logout: EndSessionRequest, showing frames: [String] = []) -> Reply {
        var reply = logout.location.map(Reply.redirect) ?? pages.signedOut(logout.language)
        if !frames.isEmpty { reply = pages.signedOut(showing: frames, then: logout.location, logout.language) }
        reply.headers[.setCookie] = context.cookie(of: .issuer).clear
        return reply
    }
}
