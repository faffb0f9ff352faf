internal import AppAuth
internal import HTTPTypes
internal import JOSE

/// The checks of a provider.
extension Examination {
    /// Checks the provider's metadata, its endpoints and the clock.
    ///
    /// - Parameter endpoints: The endpoints of the sign-in.
    /// - Returns: The client at the provider; nil if its metadata could not be used.
    mutating func checkProvider(
        of signIn: SignIn, requiring endpoints: [ProviderMetadata.Endpoint]
    ) async throws -> Client? {
        let (configuration, environment) = (signIn.configuration, signIn.configuration.environment)
        var found: Client?
        try await check("metadata", otherwise: .metadataInvalid) { examination in
            do { found = try await configuration.client(requiring: []) } catch let error as AuthError
                where error.code == .invalidResponse && !error.isTemporary
            {
                examination.add(Finding(.metadataMissing, error.message))
                return "none"
            }
            return configuration.issuer.string.shownURL
        }
        guard var client = found else { return nil }
        var required = endpoints
        if configuration.requestsIDToken { required.append(.keys) }
        if signIn.options.isPushed || client.provider.requiresPushedAuthorizationRequests {
            required.append(.pushedAuthorizationRequest)
        }
        try await check("endpoints", otherwise: .endpointFailing) { examination in
            for endpoint in required {
                let provider = client.provider
                client.provider =
                    (try? await Discovery(environment: environment)
                        .complete(provider, with: endpoint, policy: configuration.idTokenRules.issuer)) ?? provider
                if (try? client.provider.url(of: endpoint)) == .some(nil) {
                    examination.add(
                        Finding(.endpointMissing, "the provider’s metadata has no \(endpoint.rawValue.foundText)"))
                }
            }
            do { try client.provider.requirePKCE() } catch let error as AuthError {
                examination.add(Finding(.pkceUnsupported, error.message))
            }
            return try await examination.checkEndpoints(of: client.provider, environment)
        }
        let provider = client.provider
        if configuration.requestsIDToken, let keys = provider[.keys] {
            try await check("keys", otherwise: .keysUnusable) { examination in
                let set = try KeySet(try await environment.document(at: keys, stage: .keys).json)
                if set.jwks.keys.isEmpty {
                    examination.add(Finding(.keysUnusable, "no key at \(keys.shownHost) can verify a signature"))
                }
                return "\(set.jwks.keys.count) at \(keys.shownHost)"
            }
        }
        try await checkClock(of: client, environment)
        return client
    }

    /// The endpoints to which this command sends requests, beside the keys.
    private static let endpoints: [ProviderMetadata.Endpoint] = [
        .authorization, .token, .userInfo, .revocation, .endSession, .deviceAuthorization, .pushedAuthorizationRequest,
    ]

    /// Asks each endpoint for its head, which changes nothing (RFC 9110 §9.2.1). Any response but trouble of the server
    /// shows that it is there.
    private mutating func checkEndpoints(of provider: ProviderMetadata, _ environment: Environment) async throws
        -> String
    {
        let reached = try await withThrowingTaskGroup(of: (Int, Finding?).self) { group in
            for (index, endpoint) in Self.endpoints.enumerated() where provider.names(endpoint) {
                group.addTask { (index, try await Self.finding(at: endpoint, of: provider, environment)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }
        }
        for finding in reached.compactMap(\.1) { add(finding) }
        let working = reached.filter { $0.1 == nil }.map {
            Self.endpoints[$0.0].rawValue.replacing("_endpoint", with: "")
        }
        return working.isEmpty ? "none" : working.joined(separator: ", ")
    }

    private static func finding(
        at endpoint: ProviderMetadata.Endpoint, of provider: ProviderMetadata, _ environment: Environment
    ) async throws -> Finding? {
        do {
            guard let url = try provider.url(of: endpoint) else { return nil }
            let limits = HTTPLimits(
                bodyBytes: HTTPLimits.default.bodyBytes, headerBytes: HTTPLimits.default.headerBytes,
                total: .seconds(10), connect: HTTPLimits.default.connect)
            let request = TransportRequest(HTTPRequest(method: .head, url: url), limits: limits)
            let response = try await environment.send(request, stage: .discovery)
            // A server that does not know the method is there.
            guard response.status.code >= 500, response.status != .notImplemented else { return nil }
            return Finding(.endpointFailing, "the \(endpoint.rawValue.foundText) responds with \(response.status.code)")
        } catch let error as AuthError {
            return Finding(error, otherwise: error.code == .invalidMetadata ? .metadataInvalid : .endpointFailing)
        }
    }

    /// Compares the clocks. The library corrects a difference of up to a day, but other programs do not.
    private mutating func checkClock(of client: Client, _ environment: Environment) async throws {
        guard let clock = environment.serverClocks.clock(of: client, at: environment.now()) else { return }
        try await check("clock", otherwise: .clockOff) { examination in
            let seen = clock.skewDescription.split(separator: ". ").first.map(String.init) ?? ""
            if abs(clock.skew) > client.idTokenRules.leeway.seconds {
                examination.add(Finding(.clockOff, seen, isWarning: clock.isPlausible))
            }
            return seen
        }
    }

    /// Checks the scopes and DPoP against the provider's lists.
    mutating func checkRequest(_ configuration: ClientConfiguration, at provider: ProviderMetadata) async throws {
        let scope = configuration.scope(at: provider) { _ in }
        try await check("request", otherwise: .requestRefused) { examination in
            examination.compare(scope, usesDPoP: configuration.dpop != nil, with: provider)
            return (scope.spaceDelimited?.foundText ?? "no scope") + (configuration.dpop == nil ? "" : ", with DPoP")
        }
    }

    private mutating func compare(_ scope: [Scope], usesDPoP: Bool, with provider: ProviderMetadata) {
        if let listed = provider.scopes {
            let others = scope.filter { !listed.contains($0.rawValue) && $0 != .openID }
            if let names = others.spaceDelimited {
                add(Finding(.scopeUnlisted, "the provider’s metadata does not list these scopes: \(names.foundText)"))
            }
            if listed.contains(Scope.offlineAccess.rawValue), !scope.contains(.offlineAccess) {
                add(Finding(.noRefreshToken, "the scope lacks offline_access, so a session ends with its first token"))
            }
        }
        // Without a list, the metadata say nothing of refresh tokens: the default of RFC 8414 §2 has none, and most providers
        // that leave it out issue them.
        if provider.document["grant_types_supported"]?.strings?.contains(GrantType.refreshToken.rawValue) == false {
            add(Finding(.noRefreshToken, "the provider’s metadata does not list the grant type refresh_token"))
        }
        if usesDPoP, provider.document["dpop_signing_alg_values_supported"] == nil {
            add(Finding(.dpopUnlisted, "the provider’s metadata does not mention DPoP"))
        }
    }
}
