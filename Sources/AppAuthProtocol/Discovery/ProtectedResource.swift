public import JOSE

/// A protected resource, such as an API, which says where tokens for it are issued (RFC 9728).
///
/// It comes from ``Discovery/protectedResource(at:)``, which has checked that the metadata is about the requested URL, or
/// about a part of its origin that contains it.
///
/// ```swift
/// let discovery = Discovery(environment: .live)
/// let resource = try await discovery.protectedResource(at: "https://api.example.org/notes")
/// let provider = try await discovery.metadata(for: resource)
/// ```
public struct ProtectedResource: Sendable, Hashable {
    /// The resource's URL, as its metadata names it. Requests for a token name it as their `resource` (RFC 8707).
    public let url: SecureURL
    /// The URL that was asked.
    package let asked: SecureURL
    /// The authorization servers that issue tokens for the resource; empty if it lists none that can be used.
    public let authorizationServers: [Issuer]
    /// The scopes that the resource requires of a token (RFC 6750 §3). If its response named none, those that its
    /// metadata lists; empty if there are none either.
    public let scope: [Scope]
    /// Whether the resource accepts only tokens that are bound to a key (RFC 9449).
    public let requiresDPoP: Bool
    /// The whole metadata, including the members without a property here. A signed version in it (§2.2) is not read.
    public let document: JSON.Object
    /// What is wrong with the first of the listed authorization servers that cannot be used.
    private let objection: String?

    /// - Parameters:
    ///   - json: The metadata.
    ///   - location: The URL of the metadata, for messages.
    ///   - isWellKnown: Whether the location belongs to the owner of the origin.
    ///   - demanded: The scopes of the resource's response; nil if it named none.
    init(_ json: JSON, of url: SecureURL, from location: SecureURL, isWellKnown: Bool, demanded: [Scope]?) throws {
        guard let found = json["resource"]?.exactString else {
            throw AuthError(
                .invalidResponse, .resource,
                "\(location): expected an object with 'resource', found \(json.object.map { $0["resource"].foundKind } ?? json.kind)",
                httpStatus: 200)
        }
        let object = try ResponseObject(json) { message in
            AuthError(.invalidMetadata, .discovery, "invalid metadata at \(location): \(message)")
        }
        // RFC 9728 §3.3, §7.3: metadata about another resource must not be used. Otherwise, a resource could obtain tokens
        // for another one.
        guard let resource = url.resource(named: found, isWellKnown: isWellKnown) else {
            throw AuthError(
                .resourceMismatch, .discovery,
                "the metadata at \(location) is about the resource \(found.foundText), not \(url.description.foundText). If you trust "
                    + "it, use exactly that URL")
        }
        (authorizationServers, objection) = Self.servers(object.members["authorization_servers"], of: url)
        // If this is no list, the resource requires nothing.
        scope = demanded ?? (object.members["scopes_supported"]?.strings ?? []).flatMap { [Scope](received: $0) }
        requiresDPoP = object.members["dpop_bound_access_tokens_required"]?.bool ?? false
        (self.url, asked, document) = (resource, url, object.members)
    }

    /// Creates a resource that has no metadata.
    init(_ url: SecureURL, of issuer: Issuer, demanded: [Scope]?) {
        (self.url, asked, authorizationServers, scope) = (url, url, [issuer], demanded ?? [])
        (requiresDPoP, document, objection) = (false, JSON.Object(), nil)
    }

    /// Whether it lists no authorization server at all.
    var namesNoServer: Bool { authorizationServers.isEmpty && objection == nil }

    /// Returns the listed servers that can be used, each once, and what is wrong with the first of the others.
    private static func servers(_ listed: JSON?, of url: SecureURL) -> (usable: [Issuer], objection: String?) {
        guard let names = listed?.array ?? listed.map({ [$0] }) else { return ([], nil) }
        var (usable, objection): ([Issuer], String?) = ([], nil)
        for name in names {
            do {
                guard let name = name.string else {
                    throw AuthError(.invalidMetadata, .discovery, "expected strings, found \(name.kind)")
                }
                let issuer = try Issuer(name)
                if let objection = issuer.url.objection(namedBy: url) {
                    throw AuthError(.invalidMetadata, .discovery, objection)
                }
                if !usable.contains(issuer) { usable.append(issuer) }
            } catch { objection = objection ?? (error as? AuthError)?.message }
        }
        return (usable, objection)
    }

    /// Returns the authorization server to use.
    ///
    /// - Parameter chosen: The app's choice; nil if the resource's only one is wanted.
    /// - Throws: ``AuthError`` with ``AuthError/Code/issuerMismatch`` if the resource does not list the chosen one,
    ///   ``AuthError/Code/invalidMetadata`` if it lists none and none is chosen, ``AuthError/Code/invalidConfiguration`` if it lists several
    ///   and none is chosen.
    public func authorizationServer(_ chosen: Issuer? = nil) throws -> Issuer {
        guard let first = authorizationServers.first else {
            guard let objection else {
                if let chosen { return chosen }
                throw AuthError(
                    .invalidMetadata, .discovery, "the resource \(url) lists no authorization server. Name its issuer")
            }
            throw AuthError(
                .invalidMetadata, .discovery,
                "the resource \(url) lists no authorization server that can be used: \(objection)")
        }
        let names = authorizationServers.map(\.description).joined(separator: ", ")
        // RFC 9728 §7.6: only the resource decides who issues its tokens.
        if let chosen {
            guard lists(chosen) else {
                throw AuthError(
                    .issuerMismatch, .discovery,
                    "the resource \(url) does not accept tokens of \(chosen.description.foundText). Its authorization servers: \(names)"
                )
            }
            return chosen
        }
        guard authorizationServers.count == 1 else {
            throw AuthError(
                .invalidConfiguration, .discovery,
                "the resource \(url) has several authorization servers. Choose one: \(names)")
        }
        return first
    }

    /// Whether an issuer is one of the authorization servers.
    package func lists(_ issuer: Issuer) -> Bool {
        authorizationServers.contains { $0 == issuer || $0.withOtherRootSlash == issuer }
    }

    /// Returns the scopes to request at an authorization server: those of the resource, and `offline_access` for a
    /// refresh token if the server lists it. If the resource names no scopes, the server's default ones count, which a
    /// request for `offline_access` only would replace.
    public func scope(at provider: ProviderMetadata) -> [Scope] {
        let canRefresh = provider.scopes?.contains(Scope.offlineAccess.rawValue) == true
        return canRefresh && !scope.isEmpty ? scope.adding([.offlineAccess]) : scope
    }
}

extension SecureURL {
    /// Returns the resource that metadata names, if it may be that of this URL: the URL itself, the same with or without a
    /// slash at its end, or in metadata of the origin, a path that contains it.
    fileprivate func resource(named found: String, isWellKnown: Bool) -> SecureURL? {
        if found.isExactly(string) { return self }
        guard let named = try? SecureURL(found), named.query == nil, isWithin(named),
            isWellKnown || query == nil && named.isWithin(self)
        else { return nil }
        return named
    }
}
