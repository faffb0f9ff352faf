internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes

/// A browser at the pages of an interaction.
///
/// Pages at an origin of their own do not receive the issuer's cookie. They have a cookie of their own, and belong to the
/// first browser that opens them. A sign-in there stays in the interaction until ``ResumeEndpoint`` sees that the same
/// browser began it: otherwise an attacker could begin a sign-in and let another user complete it.
struct InteractionVisit {
    let context: Context
    private(set) var interaction: Interaction
    /// The browser as this interaction sees it: with the user who has signed in here.
    private(set) var browser: Browser
    /// The `Set-Cookie` value for a browser that comes for the first time.
    private(set) var newCookie: String?

    /// Returns nil if the interaction belongs to another browser.
    init?(_ interaction: Interaction, _ request: Request, _ context: Context) throws {
        (self.context, self.interaction) = (context, interaction)
        let now = context.now
        guard let browser = context.store.withLock({ $0.browser(interaction.browserID, now) }) else { return nil }
        self.browser = browser
        let cookie = context.cookie(of: .interaction)
        guard context.hasOwnOrigin(.interaction) else {
            guard cookie.id(in: request) == browser.id else { return nil }
            return
        }
        self.browser.signIn = interaction.signIn
        if let visitor = interaction.visitorID {
            guard cookie.id(in: request) == visitor else { return nil }
            return
        }
        let known = cookie.id(in: request)
        let visitor = try known ?? OpaqueToken.make()
        let isFirst = context.store.withLock { records in
            guard records.interactions[interaction.id]?.visitorID == nil else { return false }
            records.interactions[interaction.id]?.visitorID = visitor
            return true
        }
        guard isFirst else { return nil }
        self.interaction.visitorID = visitor
        newCookie = known == nil ? cookie.set(visitor) : nil
    }

    /// The id of the browser for the tokens of its forms.
    var formID: String { interaction.visitorID ?? browser.id }

    /// Changes the interaction and the browser, and stores both.
    mutating func update(_ change: (inout Interaction, inout Browser) -> Void) {
        change(&interaction, &browser)
        let isApart = context.hasOwnOrigin(.interaction)
        if isApart { interaction.signIn = browser.signIn }
        context.store.withLock { [interaction, browser] records in
            records.interactions[interaction.id] = interaction
            if !isApart { records.browsers[browser.id] = browser }
        }
    }

    /// Signs a user in, and continues the interaction.
    mutating func signIn(_ user: User) throws -> Reply {
        let signIn = try context.newSignIn(of: user, in: browser, acr: interaction.request.acrs.first ?? Metadata.acr)
        let isApart = context.hasOwnOrigin(.interaction)
        update { interaction, browser in
            interaction.hasSignedIn = true
            if isApart { browser.signIn = signIn }
        }
        var reply = Reply.redirect(to: context.page(of: interaction))
        if !isApart {
            reply.headers[.setCookie] = context.cookie(of: .issuer).set(try context.renew(browser, signIn).id)
        }
        return reply
    }
}
