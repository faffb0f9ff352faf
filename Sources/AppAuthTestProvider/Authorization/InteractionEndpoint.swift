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
        let found = context.store.withLock { $0.interactions[id] }
        guard let found, found.expiresAt > context.now else { return pages.signInIsOver }
        // Only the browser that began the sign-in may continue it: otherwise an attacker could make a user complete the
        // attacker's sign-in.
        guard let visit = try InteractionVisit(found, request, context) else { return pages.otherBrowser }
        switch request.method {
        case .get:
            var reply = try show(visit)
            if let cookie = visit.newCookie { reply.headers[.setCookie] = cookie }
            return reply
        case .post:
            guard let form = request.form, form.repeated == nil,
                FormToken(context: context, browserID: visit.formID, purpose: id).matches(form)
            else { return pages.error("This form is not from this page, or it is too old.", .forbidden) }
            return try act(form, visit)
        default: return .notAllowed("GET, POST")
        }
    }

    private func show(_ visit: InteractionVisit) throws -> Reply {
        let interaction = visit.interaction
        switch context.step(of: interaction, visit.browser) {
        case .signIn: return pages.signIn(interaction)
        case .chooseAccount(let signIn): return pages.chooseAccount(interaction, signIn)
        case .consent(let signIn): return pages.consent(interaction, signIn)
        case .finish, .fail: break
        }
        guard !context.hasOwnOrigin(.interaction) else { return resume(interaction) }
        return try AuthorizationReply(context: context).end(interaction, visit.browser)
    }

    /// Returns to the issuer, which has the cookie of the browser that began the sign-in.
    private func resume(_ interaction: Interaction) -> Reply {
        .redirect(to: context.url(.resume).appending([("ticket", interaction.id)]))
    }

    private func act(_ form: Parameters, _ visit: InteractionVisit) throws -> Reply {
        var visit = visit
        let interaction = visit.interaction
        let step = context.step(of: interaction, visit.browser)
        if case .signIn = step, let reply = try context.configuration.addition?.take(form, interaction, context) {
            return reply
        }
        switch (form["action"], step) {
        case ("deny", _):
            visit.update { interaction, _ in interaction.isDenied = true }
            guard !context.hasOwnOrigin(.interaction) else { return resume(interaction) }
            return try AuthorizationReply(context: context).end(visit.interaction, visit.browser)
        // A form that a program submits may have no button.
        case ("sign-in", .signIn), (nil, .signIn):
            let (name, password) = (form["username"] ?? "", form["password"] ?? "")
            guard let user = context.user(name: name, password: password) else {
                return pages.signIn(interaction, failedName: name)
            }
            return try visit.signIn(user)
        case ("continue", .chooseAccount): visit.update { interaction, _ in interaction.hasChosenAccount = true }
        case ("switch", .chooseAccount), ("switch", .consent):
            visit.update { interaction, browser in
                browser.signIn = nil
                interaction.hasSignedIn = false
            }
        case ("allow", .consent(let signIn)):
            visit.update { interaction, _ in interaction.hasConsented = true }
            let key = Records.ConsentKey(subject: signIn.subject, clientID: interaction.request.client.id)
            context.store.withLock { $0.consents[key, default: []].formUnion(interaction.request.scopes) }
        // The form was sent twice, or from an outdated page: show the current step.
        default: break
        }
        return .redirect(to: context.page(of: interaction))
    }
}

extension AuthorizationReply {
    /// Ends an interaction with the response to the client, or shows the page that is missing.
    func end(_ interaction: Interaction, _ browser: Browser) throws -> Reply {
        // Without a description, as from most providers.
        let denial = Interaction.Step.fail(error: "access_denied", description: nil)
        switch interaction.isDenied ? denial : context.step(of: interaction, browser) {
        case .finish(let signIn):
            guard remove(interaction) else { return Pages(context: context).signInIsOver }
            return try grant(interaction.request, to: signIn)
        case .fail(let error, let description):
            guard remove(interaction) else { return Pages(context: context).signInIsOver }
            return try refuse(interaction.request.wayBack, error, description)
        case .signIn, .chooseAccount, .consent: return .redirect(to: context.page(of: interaction))
        }
    }

    /// Removes the interaction; false if another request has ended it first. An interaction has only one response.
    private func remove(_ interaction: Interaction) -> Bool {
        context.store.withLock { $0.interactions.removeValue(forKey: interaction.id) != nil }
    }
}

extension Context {
    /// Returns the sign-in of a user who has just entered a password.
    func newSignIn(of user: User, in browser: Browser, acr: String = Metadata.acr) throws -> Browser.SignIn {
        .init(
            userName: user.name, subject: user.subject, time: now, acr: acr,
            sessionID: try browser.sessionID(of: user) ?? OpaqueToken.make())
    }

    /// Signs a user in and gives the browser a new cookie, so that a planted cookie is worthless (session fixation).
    func renew(_ browser: Browser, _ signIn: Browser.SignIn) throws -> Browser {
        let renewed = Browser(
            id: try OpaqueToken.make(), expiresAt: now.adding(configuration.sessionLifetime), signIn: signIn)
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
