internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

/// The endpoint that returns the issuer for users of this host (RFC 7033, OpenID Connect Discovery §2).
struct WebFingerEndpoint {
    let context: Context

    private static let relation = "http://openid.net/specs/connect/1.0/issuer"

    func respond(to request: Request) -> Reply {
        guard request.method == .get else { return .notAllowed("GET") }
        // RFC 7033 §4.2: 400 without a resource, and 404 for an unknown one.
        guard let resource = request.query["resource"] else { return Reply(.badRequest) }
        guard let name = Self.name(in: resource), context.people.withLock({ $0.contains { $0.name == name } }) else {
            return Reply(.notFound)
        }
        // §4.3: with rel, only the links of that kind.
        let relations = request.query.values("rel")
        let isWanted = relations.isEmpty || relations.contains(Self.relation)
        let link: JSON = ["rel": .string(Self.relation), "href": .string(context.issuer.identifier)]
        var reply = Reply.json(
            context.edited(["subject": .string(resource), "links": .array(isWanted ? [link] : [])]))
        reply.headers[.contentType] = "application/jrd+json"
        return reply
    }

    /// Returns `alice` for `acct:alice@host` and for `http://host/alice`.
    private static func name(in resource: String) -> Substring? {
        resource.hasPrefix("acct:")
            ? resource.dropFirst("acct:".count).split(separator: "@").first
            : resource.split(separator: "/").last
    }
}
