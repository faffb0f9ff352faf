internal import AppAuthConcurrency
internal import HTTPTypes

/// The endpoint `/externals/callback?code=…&state=…&fbapp_type=web|native`. The client opens it with Facebook's
/// response in the browser that began the sign-in. The flow then continues to the client's redirect.
struct ExternalCallbackEndpoint {
    let context: Context
    let facebook: Facebook
    let deliveries: Deliveries
    private var pages: Pages { Pages(context: context) }

    func respond(to request: Request) throws -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        guard request.query.repeated == nil, let code = request.query["code"], let state = request.query["state"],
            let way = request.query["fbapp_type"].flatMap(Facebook.Way.init)
        else { return pages.refusal("Expected one code, one state, and an fbapp_type of web or native.") }
        let now = context.now
        let found = context.store.withLock { records in deliveries.find(state).flatMap { records.interactions[$0] } }
        guard let found, found.expiresAt > now else {
            return pages.error("No sign-in waits with this state. Please start again.", .badRequest)
        }
        // Checked before anything is used up: an attacker who guesses or receives a state cannot end the user's
        // sign-in.
        guard var visit = try InteractionVisit(found, request, context) else { return pages.otherBrowser }
        guard facebook.spend(code, way, now), deliveries.end(state) else {
            return pages.error("Facebook does not know this code.", .badRequest)
        }
        guard let user = facebook.person(context) else {
            return pages.error("No user has an account.", .badRequest)
        }
        return try visit.signIn(user)
    }
}
