internal import AppAuthProtocol

/// The listener of a sign-in or a sign-out, either on loopback or for a private-use scheme. It also serves the one-time
/// URL that opens the provider's page.
enum RedirectListener: Sendable {
    case loopback(LoopbackRedirectListener)
    /// The redirect arrives through the scheme. The browser still starts at a one-time URL on loopback.
    case privateUse(PrivateUseRedirectListener, opener: LoopbackRedirectListener)

    init(
        _ redirect: SignIn.Redirect, responseMode: AuthorizationRequest.ResponseMode, pages: CompletionPages
    ) async throws {
        guard let privateUse = redirect.privateUse else {
            self = .loopback(
                try LoopbackRedirectListener(
                    host: redirect.host, ports: redirect.ports, path: redirect.path,
                    addsRandomComponent: redirect.addsRandomComponent, responseMode: responseMode,
                    sameUser: redirect.sameUser, certificate: redirect.certificate, pages: pages))
            return
        }
        guard !privateUse.uri.isWholeScheme else {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected a redirect URI that is registered for the client, found the whole scheme \(privateUse.scheme)"
            )
        }
        // OAuth 2.0 Form Post Response Mode §2: a browser cannot post an HTML form to a private-use scheme.
        guard !responseMode.isPosted else {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "a redirect to a private-use scheme cannot use the response mode \(responseMode.rawValue)")
        }
        let opener = try LoopbackRedirectListener(
            path: nil, sameUser: redirect.sameUser, pages: pages)
        self = .privateUse(try await PrivateUseRedirectListener(privateUse), opener: opener)
    }

    var redirectURI: String {
        switch self {
        case .loopback(let listener): listener.redirectURI
        case .privateUse(let listener, _): listener.redirectURI
        }
    }

    var sameUserObstacle: BrowserObstacle? {
        switch self {
        case .loopback(let listener), .privateUse(_, let listener): listener.sameUserObstacle
        }
    }

    /// Calls a function once for each obstacle that a connection shows.
    func onObstacle(_ learn: @escaping @Sendable (BrowserObstacle) -> Void) {
        switch self {
        case .loopback(let listener), .privateUse(_, let listener): listener.onObstacle(learn)
        }
    }

    /// Returns a one-time URL for an address that is found when the URL is opened. If that throws, so does the wait for the
    /// redirect.
    func oneTimeURL(target: @escaping OneTimeTarget) -> String {
        switch self {
        case .loopback(let listener): listener.oneTimeURL(target: target)
        case .privateUse(let listener, let opener):
            opener.oneTimeURL { () throws(AuthError) in
                do throws(AuthError) { return try target() } catch {
                    listener.fail(error)
                    throw error
                }
            }
        }
    }

    func oneTimeURLsUsed() async throws {
        switch self {
        case .loopback(let listener), .privateUse(_, let listener): try await listener.oneTimeURLsUsed()
        }
    }

    func redirect<Value: Sendable>(match: @escaping @Sendable (_ parameters: String) -> Value?) async throws -> Value {
        switch self {
        case .loopback(let listener): try await listener.redirect(match: match)
        case .privateUse(let listener, _): try await listener.redirect(match: match)
        }
    }

    /// Shows the outcome to the user if the app can show a page.
    func finish(with page: CompletionPage) async {
        switch self {
        case .loopback(let listener): await listener.finish(with: page)
        case .privateUse: close()
        }
    }

    func close() {
        switch self {
        case .loopback(let listener): listener.close()
        case .privateUse(let listener, let opener):
            opener.close()
            listener.close()
        }
    }
}
