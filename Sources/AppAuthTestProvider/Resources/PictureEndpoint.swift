internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE

extension User {
    /// Returns the user with the claim `picture` (Core §5.1), if the provider has a picture of the user.
    func withPictureClaim(_ issuer: Issuer) -> User {
        var user = self
        if picture != nil, claims["picture"] == nil {
            user.claims["picture"] = .string("\(issuer.url(.picture))/\(name)")
        }
        return user
    }
}

/// The users' pictures, to which the claim `picture` leads. They are public, like those of real providers.
struct PictureEndpoint {
    let context: Context

    func respond(to request: Request) -> Reply {
        guard request.method == .get || request.method == .head else { return .notAllowed("GET, HEAD") }
        let name = request.path.split(separator: "/").last ?? ""
        guard let picture = context.people.withLock({ $0.first { $0.name == name } })?.picture else {
            return Pages(context: context).error("There is nothing at this address.", .notFound)
        }
        return Reply(.ok, [.contentType: "image/png", .cacheControl: "public, max-age=3600"], body: picture)
    }
}
