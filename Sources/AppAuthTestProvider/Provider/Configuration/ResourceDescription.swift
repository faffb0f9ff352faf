internal import JOSE

/// The demo resource's description of itself (RFC 9728), and the scopes that it requires.
package struct ResourceDescription: Sendable {
    /// The scopes that a request needs; empty if any token will do.
    package var scopes: [String]
    /// The authorization servers; nil for this provider only.
    package var authorizationServers: [String]?
    /// Whether responses without a valid token name the location of the metadata (RFC 9728 §5.1).
    package var isNamedInChallenges = true
    /// The path of the metadata; nil for that of RFC 9728 §3.1. With ``originLocation``, the resource is the whole origin.
    package var location: String?

    package static let originLocation = "/.well-known/oauth-protected-resource"

    package init(scopes: [String] = []) { self.scopes = scopes }

    func document(_ context: Context) -> JSON {
        let servers = authorizationServers ?? [context.issuer.identifier]
        var document: JSON.Object = [
            "resource": .string(context.resource),
            "authorization_servers": .array(servers.map(JSON.string)), "bearer_methods_supported": ["header"],
        ]
        if !scopes.isEmpty { document["scopes_supported"] = .array(scopes.map(JSON.string)) }
        return .object(document)
    }

    /// The attributes of the challenge.
    func attributes(_ context: Context) -> [(name: String, value: String)] {
        let scope = scopes.isEmpty ? [] : [(name: "scope", value: scopes.joined(separator: " "))]
        guard isNamedInChallenges else { return scope }
        return scope + [("resource_metadata", context.issuer.url(.resourceMetadata))]
    }
}

extension Context {
    /// The identifier of the demo resource.
    var resource: String {
        configuration.resourceDescription?.location == ResourceDescription.originLocation
            ? issuer.origin : issuer.url(.api)
    }
}
