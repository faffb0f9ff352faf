internal import HTTPTypes
internal import JOSE

/// The public documents: the metadata at both URLs, and the keys.
struct DocumentEndpoint {
    let context: Context

    func respond(to request: Request, _ document: JSON, cacheControl: String?) -> Reply {
        guard request.method == .get || request.method == .head else { return .notAllowed("GET, HEAD") }
        var reply = Reply.json(context.edited(document))
        reply.headers[.cacheControl] = cacheControl
        return reply
    }
}
