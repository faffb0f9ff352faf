internal import AppAuthProtocol
internal import Logging

/// The verification of the response to a refresh.
extension AuthState {
    /// How long the ID token of a refresh may withhold the access token while keys and metadata are fetched.
    private static let verificationLimit: Duration = .seconds(10)

    /// Verifies the ID token of a response. If that takes too long, it goes on without the caller: the next refresh finds
    /// the keys.
    func verify(_ response: TokenResponse) async -> SessionRules.IDTokenVerification {
        guard let token = response.idToken, let previous = record.idToken else { return .absent }
        let (steps, step) = AsyncStream.makeStream(of: VerificationStep.self)
        Task {
            step.yield(.done(await check(token, of: response, after: previous) { step.yield(.fetching(refusal: $0)) }))
            step.finish()
        }
        var latest: RefreshedIDToken?
        var limit: Task<Void, any Error>?
        for await reached in steps {
            switch reached {
            case .fetching(let refusal):
                latest = refusal
                limit =
                    limit
                    ?? Task { [environment] in
                        try await environment.sleep(Self.verificationLimit)
                        step.finish()
                    }
            case .done(let result): latest = result
            }
        }
        limit?.cancel()
        let keys = verifier.keys?.entry
        switch latest?.finding {
        case .verified(let token):
            environment.logger.info("idToken: it is signed by the provider, and about the same user")
            return .verified(token, keys: keys)
        case .repeated: return .verified(previous, keys: keys)
        case .unverified(let error): return .unverified(error)
        case .refused(let error): return .refused(error)
        case nil:
            return .unverified(
                AuthError(
                    .timeout, .keys, "expected the provider’s keys within 10 s, found none", isTemporary: true))
        }
    }

    /// Checks the ID token of a response, once more if the provider has newer metadata.
    private func check(
        _ token: Secret, of response: TokenResponse, after previous: IDToken,
        willFetch: @Sendable (RefreshedIDToken?) -> Void
    ) async -> RefreshedIDToken {
        var expected = IDTokenVerifier.Expectations(nonce: record.nonce)
        expected.accessToken = response.accessToken
        let result = await verifier.check(
            refreshed: token, after: previous, expected, serverClock: response.serverClock, willFetch: willFetch)
        if case .none = result.remedy { return result }
        willFetch(result.isRefusal ? result.withoutRemedy() : nil)
        guard let hasNewer = await renewMetadata() else { return result.withoutRemedy() }
        guard hasNewer else { return result }
        return await verifier.check(
            refreshed: token, after: previous, expected, serverClock: response.serverClock, willFetch: willFetch)
    }

    static func authError(_ error: any Error) -> AuthError {
        error as? AuthError
            ?? AuthError(
                .transport, .refresh, "the request was cancelled", outcome: .perhapsProcessed, isTemporary: true)
    }
}

/// A step of the verification of an ID token.
private enum VerificationStep: Sendable {
    /// Keys or metadata are about to be fetched. The refusal holds unless they lead to another result.
    case fetching(refusal: RefreshedIDToken?)
    case done(RefreshedIDToken)
}
