internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE
internal import Logging

/// Finds a provider's metadata from its issuer (OpenID Connect Discovery §4, RFC 8414 §3). Keeps it in memory for the
/// time that Cache-Control says, limited to five minutes up to a day. Keeps the metadata of 64 issuers.
///
/// Safe to share: callers that ask for the same issuer at the same time share one request.
///
/// ```swift
/// let provider = try await Discovery(environment: .live).metadata(for: "https://accounts.example.org")
/// ```
public final class Discovery: Sendable {
    let environment: Environment
    private let cache = LockedValue<[Name: Entry]>([:])
    private static let most = 64

    /// The document of an issuer, the policy by which it may name itself, and where it is if the issuer does not say that.
    private struct Name: Hashable {
        let issuer: Issuer
        let policy: IssuerPolicy
        var location: SecureURL?

        /// The issuer in the document.
        var expected: String { policy.template ?? issuer.string }
    }

    private struct Entry {
        let flight = SingleFlight<ProviderMetadata>()
        var metadata: ProviderMetadata?
        var term: Term?

        func metadata(at now: Timestamp) -> ProviderMetadata? { term?.isOver(at: now) == false ? metadata : nil }
    }

    /// Creates an empty cache.
    public init(environment: Environment) { self.environment = environment }

    /// Returns the metadata of an issuer, from memory if it has not expired. Otherwise sends one GET, or up to four if
    /// the first locations have no metadata.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - location: The URL of the document; nil for the standard locations, which follow from the issuer. Some providers
    ///     have it elsewhere, or redirect to it. It must name the issuer all the same.
    ///   - policy: The policy for the issuer of ID tokens. With a template, the document must name exactly that template
    ///     as its issuer. The metadata then has the requested issuer, which names the provider in a session.
    /// - Throws: ``AuthError`` with ``AuthError/Code/issuerMismatch`` if the document names another issuer,
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidResponse`` with what each location returned if none
    ///   has a document that can be used, ``AuthError/Code/transport``; `CancellationError`.
    public func metadata(
        for issuer: Issuer, at location: SecureURL? = nil, policy: IssuerPolicy = .exact
    ) async throws -> ProviderMetadata {
        let name = Name(issuer: issuer, policy: policy, location: location)
        let entry = entry(of: name)
        if let metadata = entry.metadata(at: environment.now()) { return metadata }
        return try await entry.flight.run { [self] in
            // A request that ended before this caller could join it may have stored the metadata.
            let now = environment.now()
            if let metadata = self.entry(of: name).metadata(at: now) { return metadata }
            let (metadata, lifetime) = try await fetch(name)
            cache.withLock { cache in
                cache[name]?.metadata = metadata
                cache[name]?.term = Term(from: now, for: lifetime)
            }
            return metadata
        }
    }

    /// Returns the number of callers that wait for the current request.
    package func waitingCount(for issuer: String) throws -> Int {
        try entry(of: Name(issuer: Issuer(issuer), policy: .exact)).flight.waitingCount
    }

    private func entry(of name: Name) -> Entry {
        cache.withLock { cache in
            if let entry = cache[name] { return entry }
            if cache.count >= Self.most { makeRoom(in: &cache) }
            let entry = Entry()
            cache[name] = entry
            return entry
        }
    }

    /// Removes the issuers that need not be kept, or else the one that was fetched first. The names of issuers also come
    /// from resources and e-mail addresses, so there may be any number.
    private func makeRoom(in cache: inout [Name: Entry]) {
        let now = environment.now()
        cache = cache.filter { $0.value.flight.running != nil || $0.value.metadata(at: now) != nil }
        guard cache.count >= Self.most else { return }
        let kept = cache.compactMap { name, entry in entry.term.map { (name, $0.begin.sinceBoot) } }
        if let first = kept.min(by: { $0.1 < $1.1 }) { cache[first.0] = nil }
    }

    /// Adds what the metadata lacks, if some providers list an endpoint only in their RFC 8414 document.
    ///
    /// If the endpoint is missing, fetches `/.well-known/oauth-authorization-server` before the issuer's path and after
    /// it. The document counts only if it names the issuer that the policy expects. Nothing is fetched for metadata that
    /// the app has put together, or whose location the app has named.
    ///
    /// - Parameter policy: The policy with which the metadata was fetched.
    /// - Returns: The metadata with the endpoint, and with all other members of that document that it lacks; unchanged if no
    ///   such document has the endpoint.
    /// - Throws: ``AuthError`` if a document could not be fetched, so that it is unknown whether the provider has the
    ///   endpoint; `CancellationError`.
    public func complete(
        _ metadata: ProviderMetadata, with endpoint: ProviderMetadata.Endpoint, policy: IssuerPolicy = .exact
    ) async throws -> ProviderMetadata {
        guard !metadata.names(endpoint), metadata.isDiscovered, metadata.location == nil else { return metadata }
        var failure: AuthError?
        let name = Name(issuer: metadata.issuer, policy: policy)
        for url in metadata.issuer.authorizationServerMetadataURLs {
            do {
                let completed = metadata.completed(from: try await fetch(name, at: url).metadata)
                guard completed[endpoint] != nil else { continue }
                cache.withLock { cache in
                    if cache[name]?.metadata == metadata { cache[name]?.metadata = completed }
                }
                return completed
            } catch let error as AuthError {
                environment.logger.info("discovery: no further document: \(error)")
                if error.leavesDocumentUnknown { failure = error }
            }
        }
        if let failure { throw failure }
        return metadata
    }

    private typealias Fetched = (metadata: ProviderMetadata, lifetime: Duration)

    private func fetch(_ name: Name) async throws -> Fetched {
        // A server of OAuth without OpenID Connect has only the documents of RFC 8414 §3.
        let standard = name.issuer.openIDConfigurationURLs + name.issuer.authorizationServerMetadataURLs
        var missing = MissingDocuments()
        for url in name.location.map({ [$0.string] }) ?? standard {
            let found = try await missing.document(at: SecureURL(url)) { try await fetch(name, at: url) }
            if let found { return found }
        }
        let isDocument = name.issuer.string.contains("/.well-known/")
        let remedy =
            if name.location != nil {
                "Check the URL"
            } else if isDocument {
                "Check the issuer: it is the part of the URL before /.well-known/"
            } else {
                "Check the issuer"
            }
        throw missing.error("no OpenID configuration", remedy)
    }

    private func fetch(_ name: Name, at url: String) async throws -> Fetched {
        var (json, lifetime) = try await environment.document(at: SecureURL(url), stage: .discovery)
        // Discovery §4.3, RFC 8414 §3.3: unless the issuer is exactly the requested one, the document must not be used.
        guard let found = json["issuer"]?.string, !found.isEmpty else {
            throw AuthError(
                .invalidResponse, .discovery, "\(url): expected an object with 'issuer', found \(json.foundIssuer)",
                httpStatus: 200)
        }
        guard found.isExactly(name.expected) else {
            let isSlash = found == name.expected + "/" || found + "/" == name.expected
            let remedy =
                found.contains(IssuerPolicy.placeholder)
                ? "It has many tenants: use this issuer with the ID of one tenant in place of \(IssuerPolicy.placeholder)"
                : (try? Issuer(found)) == nil
                    ? "That is no issuer: the provider’s administrator has to set its URL"
                    : "If you trust it, use exactly that issuer\(isSlash ? " (check the trailing slash)" : "")"
            let place = (name.location ?? name.issuer.url).description.foundText
            throw AuthError(
                .issuerMismatch, .discovery, "the provider at \(place) calls itself \(found.foundText). \(remedy)")
        }
        if var members = json.object, name.policy.template != nil {
            members["issuer"] = .string(name.issuer.string)
            json = .object(members)
        }
        var metadata = try ProviderMetadata(json, isDiscovered: true)
        metadata.location = name.location
        return (metadata, lifetime)
    }
}
