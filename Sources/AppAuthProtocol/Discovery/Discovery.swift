internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE
internal import Logging

/// Finds a provider's metadata from its issuer (OpenID Connect Discovery §4, RFC 8414 §3). Keeps it in memory for the
/// time that Cache-Control says, limited to five minutes up to a day.
///
/// Safe to share: callers that ask for the same issuer at the same time share one request.
///
/// ```swift
/// let provider = try await Discovery(environment: .live).metadata(for: "https://accounts.example.org")
/// ```
public final class Discovery: Sendable {
    let environment: Environment
    private let cache = LockedValue<[Issuer: Entry]>([:])

    private struct Entry {
        let flight = SingleFlight<ProviderMetadata>()
        var metadata: ProviderMetadata?
        var term: Term?

        func metadata(at now: Timestamp) -> ProviderMetadata? { term?.isOver(at: now) == false ? metadata : nil }
    }

    /// Creates an empty cache.
    public init(environment: Environment) { self.environment = environment }

    /// Returns the metadata of an issuer, from memory if it has not expired. Otherwise sends one GET, or up to three if
    /// the first locations have no metadata.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/issuerMismatch`` if the document names another issuer,
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``;
    ///   `CancellationError`.
    public func metadata(for issuer: Issuer) async throws -> ProviderMetadata {
        let entry = entry(of: issuer)
        if let metadata = entry.metadata(at: environment.now()) { return metadata }
        return try await entry.flight.run { [self] in
            // A request that ended before this caller could join it may have stored the metadata.
            let now = environment.now()
            if let metadata = self.entry(of: issuer).metadata(at: now) { return metadata }
            let (metadata, lifetime) = try await fetch(issuer)
            cache.withLock { cache in
                cache[issuer]?.metadata = metadata
                cache[issuer]?.term = Term(from: now, for: lifetime)
            }
            return metadata
        }
    }

    /// Returns the number of callers that wait for the current request.
    package func waitingCount(for issuer: String) throws -> Int { try entry(of: Issuer(issuer)).flight.waitingCount }

    private func entry(of issuer: Issuer) -> Entry {
        cache.withLock { cache in
            let entry = cache[issuer] ?? Entry()
            cache[issuer] = entry
            return entry
        }
    }

    /// Adds an endpoint that some providers list only in their RFC 8414 document.
    ///
    /// If the endpoint is missing, fetches `/.well-known/oauth-authorization-server` before the issuer's path and after
    /// it. The document counts only if it names the same issuer. Nothing is fetched for metadata that the app has put
    /// together.
    ///
    /// - Returns: The metadata with the endpoint; unchanged if no such document has it.
    /// - Throws: ``AuthError`` if a document could not be fetched, so that it is unknown whether the provider has the
    ///   endpoint; `CancellationError`.
    public func complete(
        _ metadata: ProviderMetadata, with endpoint: ProviderMetadata.Endpoint
    ) async throws -> ProviderMetadata {
        guard metadata[endpoint] == nil, metadata.isDiscovered else { return metadata }
        var failure: AuthError?
        for url in metadata.issuer.authorizationServerMetadataURLs {
            do {
                let completed = metadata.completed(
                    with: endpoint, from: try await fetch(metadata.issuer, at: url).metadata)
                if completed[endpoint] != nil { return completed }
            } catch let error as AuthError {
                environment.logger.info("discovery: no second document: \(error)")
                if error.leavesDocumentUnknown { failure = error }
            }
        }
        if let failure { throw failure }
        return metadata
    }

    private typealias Fetched = (metadata: ProviderMetadata, lifetime: Duration)

    private func fetch(_ issuer: Issuer) async throws -> Fetched {
        do {
            return try await fetch(issuer, at: issuer.openIDConfigurationURL)
        } catch var error as AuthError where error.isMissingDocument {
            // A server of OAuth without OpenID Connect has only the second document (RFC 8414 §3). If that is missing
            // too, the first error is the useful one.
            for url in issuer.authorizationServerMetadataURLs {
                do { return try await fetch(issuer, at: url) } catch let next as AuthError where next.isMissingDocument
                {}
            }
            let status = error.httpStatus.map { " (\($0))" } ?? ""
            error.message = "no OpenID configuration at \(issuer.openIDConfigurationURL)\(status). Check the issuer"
                .shortened(to: 1000)
            throw error
        }
    }

    private func fetch(_ issuer: Issuer, at url: String) async throws -> Fetched {
        let (json, lifetime) = try await environment.document(at: SecureURL(url), stage: .discovery)
        // Discovery §4.3, RFC 8414 §3.3: unless the issuer is exactly the requested one, the document must not be used.
        guard let found = json["issuer"]?.string else {
            throw AuthError(
                .invalidMetadata, .discovery, "expected an object with 'issuer' at \(url), found \(json.foundIssuer)")
        }
        guard found == issuer.string, found.utf8.elementsEqual(issuer.string.utf8) else {
            throw AuthError(
                .issuerMismatch, .discovery,
                "the provider at '\(issuer)' calls itself '\(found.prefix(200))'. If you trust it, use exactly that "
                    + "issuer (check the trailing slash)")
        }
        return (try ProviderMetadata(json, isDiscovered: true), lifetime)
    }
}

extension AuthError {
    /// Whether the server did not say if it has the document.
    fileprivate var leavesDocumentUnknown: Bool { isTemporary || [.transport, .timeout].contains(code) }

    fileprivate var isMissingDocument: Bool {
        code == .invalidResponse && httpStatus.map { (400..<500).contains($0) && $0 != 429 } == true
    }
}
