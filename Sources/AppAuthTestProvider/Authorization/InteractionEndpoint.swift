internal import AppAuthConcurrency
internal import JOSE
internal import FoundationEssentials
internal import HTTPTypes

/// The pages between an authorization request and its response, and the forms on them.
struct InteractionEndpoint {
    let context: Context
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request) throws -> Reply {
        let id = String(request.path.dropFirst(context.issuer.path(of: .interaction).count + 1))
        let (now, cookie) = (context.now, BrowserCookie(context.issuer).id(in: request))
        let found = context.store.withLock { records in
            (records.interactions[id], cookie.flatMap { records.browser($0, now) })
        }
        guard let interaction = found.0, interaction.expiresAt > now else {
            return over
        }
        // Only the browser that began the sign-in may continue it: otherwise an attacker could make a user complete the
        // attacker's sign-in.
        guard let browser = found.1, browser.id == interaction.browserID else {
            return pages.error("This sign-in began in another browser, or cookies are turned off.", .forbidden)
        }
        switch request.method {
        case .get: return try show(interaction, browser)
        case .post:
            guard let form = request.form, form.repeated == nil,
                FormToken(context: context, browserID: browser.id, purpose: id).matches(form)
            else { return pages.error("This form is not from this page, or it is too old.", .forbidden) }
            return try act(form, interaction, browser)
        default: return .notAllowed("GET, POST")
        }
    }

    private func show(_ interaction: Interaction, _ browser: Browser) throws -> Reply {
        switch context.step(of: interaction, browser) {
        case .signIn: return pages.signIn(interaction)
        case .chooseAccount(let signIn): return pages.chooseAccount(interaction, signIn)
        case .consent(let signIn): return pages.consent(interaction, signIn)
        case .finish(let signIn):
            guard end(interaction) else { return over }
            return try AuthorizationReply(context: context).grant(interaction.request, to: signIn)
        case .fail(let error, let description):
            guard end(interaction) else { return over }
            return try AuthorizationReply(context: context).refuse(interaction.request.wayBack, error, description)
        }
    }

    private func act(_ form: Parameters, _ interaction: Interaction, _ browser: Browser) throws -> Reply {
        var (interaction, browser) = (interaction, browser)
        let step = context.step(of: interaction, browser)
        if case .signIn = step, let reply = try context.configuration.addition?.take(form, interaction, context) {
            return reply
        }
        switch (form["action"], step) {
        case ("deny", _):
            guard end(interaction) else { return over }
            return try AuthorizationReply(context: context)
                .refuse(interaction.request.wayBack, "access_denied", "the user denied the request")
        // A form that a program submits may have no button.
        case ("sign-in", .signIn), (nil, .signIn):
            let (name, password) = (form["username"] ?? "", form["password"] ?? "")
            guard let user = context.user(name: name, password: password) else {
                return pages.signIn(interaction, failedName: name)
            }
            return try signIn(user, interaction, browser)
        case ("continue", .chooseAccount): interaction.hasChosenAccount = true
        case ("switch", .chooseAccount), ("switch", .consent):
            browser.signIn = nil
            interaction.hasSignedIn = false
        case ("allow", .consent(let signIn)):
            interaction.hasConsented = true
            let key = Records.ConsentKey(subject: signIn.subject, clientID: interaction.request.client.id)
            context.store.withLock { $0.consents[key, default: []].formUnion(interaction.request.scopes) }
        // The form was sent twice, or from an outdated page: show the current step.
        default: return .redirect(to: url(interaction))
        }
        context.store.withLock { records in
            records.interactions[interaction.id] = interaction
            records.browsers[browser.id] = browser
        }
        return .redirect(to: url(interaction))
    }

    /// Continues the interaction as a user who has just signed in.
    func signIn(_ user: User, _ interaction: Interaction, _ browser: Browser) throws -> Reply {
        var changed = interaction
        changed.hasSignedIn = true
        context.store.withLock { [changed] in $0.interactions[changed.id] = changed }
        let renewed = try context.signIn(user, in: browser, acr: interaction.request.acrs.first ?? Metadata.acr)
        var reply = Reply.redirect(to: url(interaction))
        reply.headers[.setCookie] = BrowserCookie(context.issuer).set(renewed.id)
        return reply
    }

    private var over: Reply {
        pages.error("This sign-in is over. Please go back to the app and start again.", .notFound)
    }

    /// Ends the interaction; false if another request has ended it first. An interaction has only one response.
    private func end(_ interaction: Interaction) -> Bool {
        context.store.withLock { $0.interactions.removeValue(forKey: interaction.id) != nil }
    }

    private func url(_ interaction: Interaction) -> String { context.issuer.url(.interaction) + "/" + interaction.id }
}

extension Context {
    /// Signs a user in and gives the browser a new cookie, so that a planted cookie is worthless (session fixation).
    func signIn(_ user: User, in browser: Browser, acr: String = Metadata.acr) throws -> Browser {
        let now = now
        let renewed = Browser(
            id: try OpaqueToken.make(), expiresAt: now.adding(configuration.sessionLifetime),
            signIn: .init(
                userName: user.name, subject: user.subject, time: now, acr: acr,
                sessionID: try browser.sessionID(of: user) ?? OpaqueToken.make()))
        store.withLock { records in
            records.browsers[browser.id] = nil
            records.browsers[renewed.id] = renewed
            // Sign-ins in other tabs continue with the new cookie.
            for (id, other) in records.interactions where other.browserID == browser.id {
                records.interactions[id]?.browserID = renewed.id
            }
        }
        return renewed
    }
}

extension Browser {
    /// Returns the session id if the same user signs in again, so that their session continues.
    fileprivate func sessionID(of user: User) -> String? {
        signIn.flatMap { $0.subject == user.subject ? $0.sessionID : nil }
    }
}
