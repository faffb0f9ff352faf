internal import FoundationEssentials

/// The resources for which tokens are requested (RFC 8707 §2).
enum ResourceIndicators {
    /// Returns the resources of a request. Each is an absolute URI without a fragment that the provider knows.
    static func check(_ parameters: Parameters, _ context: Context) throws(OAuthFailure) -> [String] {
        let resources = parameters.values("resource").filter { !$0.isEmpty }
        let known = context.configuration.resources + [context.resource]
        for resource in resources {
            guard let url = URLComponents(string: resource), url.scheme != nil, url.fragment == nil,
                known.contains(resource)
            else { throw OAuthFailure("invalid_target", "a resource is not known to this provider") }
        }
        return resources
    }
}
