internal import AppAuthConcurrency
internal import FoundationEssentials
internal import HTTPTypes

/// The endpoint of the issuer to which interaction pages at an origin of their own lead: `?ticket=<interaction>`. Here the
/// browser has the issuer's cookie again, and gets the authorization response.
struct ResumeEndpoint {
    let context: Context
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request) throws -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        let (now, cookie) = (context.now, context.cookie(of: .issuer))
        let (id, browserID) = (request.query["ticket"] ?? "", cookie.id(in: request) ?? "")
        let found = context.store.withLock { ($0.interactions[id], $0.browser(browserID, now)) }
        guard let interaction = found.0, interaction.expiresAt > now else { return pages.signInIsOver }
        guard var browser = found.1, browser.id == interaction.browserID else { return pages.otherBrowser }
        var renewed: String?
        if let signIn = interaction.signIn, signIn != browser.signIn {
            browser = try context.renew(browser, signIn)
            renewed = cookie.set(browser.id)
        } else {
            browser.signIn = interaction.signIn
        }
        // A page may be missing, if the user is not back from it yet.
        var reply = try AuthorizationReply(context: context).end(interaction, browser)
        if let renewed { reply.headers[.setCookie] = renewed }
        return reply
    }
}
