internal import JOSE

extension Discovery {
    /// Finds the issuer at which a user signs in, from an identifier of the user (OpenID Connect Discovery §2). Sends
    /// one GET to the host that the identifier names (WebFinger, RFC 7033).
    ///
    /// ```swift
    /// let issuer = try await discovery.issuer(of: "alice@example.org")
    /// let provider = try await discovery.metadata(for: issuer)
    /// ```
    /// The owner of that host decides where the user signs in: show the issuer before the browser opens.
    ///
    /// - Parameter identifier: The identifier as the user typed it: `alice@example.org`, with `acct:` or without, a
    ///   host, or a URL.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the identifier names no host,
    ///   ``AuthError/Code/invalidResponse`` if the host names no issuer or an invalid one,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func issuer(of identifier: String) async throws -> Issuer {
        let subject = try WebFingerSubject(identifier)
        let (json, _) = try await environment.document(
            at: subject.url, stage: .discovery, accepting: "application/jrd+json, application/json")
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidResponse, .discovery, "invalid response from \(subject.url.authority): \(message)")
        }
        // RFC 7033 §4.4: unknown members and links are ignored.
        let link = json["links"]?.array?.first { $0["rel"]?.string == WebFingerSubject.relation }
        guard let href = link?["href"]?.string else { throw refusal("expected a link to an issuer, found none") }
        let issuer: Issuer
        do { issuer = try Issuer(href) } catch let error as AuthError {
            throw refusal("expected an issuer: \(error.message)")
        }
        if let objection = issuer.url.objection(namedBy: subject.url) { throw refusal("'href': \(objection)") }
        return issuer
    }
}

/// The resource to look up and the host to ask (OpenID Connect Discovery §2.1).
private struct WebFingerSubject {
    /// The URL of the query (§2.2).
    let url: SecureURL

    static let relation = "http://openid.net/specs/connect/1.0/issuer"

    init(_ identifier: String) throws {
        // §2.1.2: without a scheme, `name@host` and nothing more is an account; everything else is a URL.
        let text = identifier.prefix { $0 != "#" }
        let isAccount = text.contains("@") && !text.contains(where: "/?:".contains)
        let resource = isAccount ? "acct:\(text)" : Self.hasScheme(text) ? String(text) : "https://\(text)"
        let host: SecureURL
        if resource.lowercased().hasPrefix("acct:") {
            let name = resource.dropFirst("acct:".count)
            guard let at = name.lastIndex(of: "@"), at > name.startIndex else {
                throw AuthError(
                    .invalidConfiguration, .discovery,
                    "expected a name at a host, such as alice@example.org, found none")
            }
            let authority = name[name.index(after: at)...]
            let secure = try SecureURL("https://\(authority)")
            host = secure.isLoopback ? try SecureURL("http://\(authority)") : secure
        } else {
            host = try SecureURL(resource)
        }
        var query = FormParameters()
        query.append("resource", resource)
        query.append("rel", Self.relation)
        url = try SecureURL("\(host.scheme)://\(host.authority)/.well-known/webfinger?\(query.encoded)")
    }

    /// A number after a colon is a port.
    private static func hasScheme(_ text: Substring) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        return !text[text.index(after: colon)...].prefix { $0 != "/" && $0 != "?" }.allSatisfy(\.isNumber)
            || text[colon...].hasPrefix("://")
    }
}
