internal import AppAuthCore

/// What waits for the redirect of a sign-in: on loopback, or for a scheme of the app's own.
enum RedirectListener: Sendable {
    case loopback(LoopbackRedirectListener)
    case privateUse(PrivateUseRedirectListener)

    init(
        _ redirect: SignIn.Redirect, responseMode: AuthorizationRequest.ResponseMode, pages: CompletionPages
    ) async throws {
        guard let privateUse = redirect.privateUse else {
            self = .loopback(
                try LoopbackRedirectListener(
                    host: redirect.host, ports: redirect.ports, path: redirect.path,
                    addsRandomComponent: redirect.addsRandomComponent, responseMode: responseMode,
                    requiresSameUser: redirect.requiresSameUser, pages: pages))
            return
        }
        // OAuth 2.0 Form Post Response Mode §2: an HTML form, which cannot be posted to a scheme that is not HTTP's.
        guard !responseMode.isPosted else {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected a response mode that is not posted for a redirect to a private-use scheme, found \(responseMode.rawValue)",
                outcome: .notSent)
        }
        self = .privateUse(try await PrivateUseRedirectListener(privateUse))
    }

    var redirectURI: String {
        switch self {
        case .loopback(let listener): listener.redirectURI
        case .privateUse(let listener): listener.redirectURI
        }
    }

    func redirect<Value: Sendable>(judge: @escaping @Sendable (_ parameters: String) -> Value?) async throws -> Value {
        switch self {
        case .loopback(let listener): try await listener.redirect(judge: judge)
        case .privateUse(let listener): try await listener.redirect(judge: judge)
        }
    }

    /// Tells the person how it went, where the app can show a page.
    func finish(with page: CompletionPage) async {
        switch self {
        case .loopback(let listener): await listener.finish(with: page)
        case .privateUse(let listener): listener.close()
        }
    }

    func close() {
        switch self {
        case .loopback(let listener): listener.close()
        case .privateUse(let listener): listener.close()
        }
    }
}
