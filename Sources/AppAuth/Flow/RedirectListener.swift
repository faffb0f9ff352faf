internal import AppAuthProtocol

/// The listener of a sign-in or a sign-out, either on loopback or for a private-use scheme. It also serves the one-time
/// URL that opens the provider's page.
struct RedirectListener: Sendable {
    private let loopback: LoopbackRedirectListener
    /// Receives the redirect, if it comes through a scheme. The browser still starts at a one-time URL on loopback.
    private let scheme: PrivateUseRedirectListener?

    init(
        _ redirect: SignIn.Redirect, responseMode: AuthorizationRequest.ResponseMode, pages: CompletionPages
    ) async throws {
        guard let privateUse = redirect.privateUse else {
            loopback = try LoopbackRedirectListener(
                host: redirect.host, ports: redirect.ports, path: redirect.path,
                addsRandomComponent: redirect.addsRandomComponent, responseMode: responseMode,
                sameUser: redirect.sameUser, certificate: redirect.certificate, pages: pages)
            scheme = nil
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
        loopback = try LoopbackRedirectListener(path: nil, sameUser: redirect.sameUser, pages: pages)
        scheme = try await PrivateUseRedirectListener(privateUse)
    }

    var redirectURI: String { scheme?.redirectURI ?? loopback.redirectURI }

    /// Calls a function once for each obstacle that a connection shows.
    func onObstacle(_ learn: @escaping @Sendable (BrowserObstacle) -> Void) { loopback.onObstacle(learn) }

    /// Opens a one-time URL for an address that is found when the browser asks for it. If that throws, so does the wait for
    /// the redirect.
    ///
    /// - Parameter observe: Called for each obstacle that is known then.
    func open(
        in browser: Browser, _ watch: BrowserWatch, observe: (BrowserObstacle) -> Void, target: @escaping OneTimeTarget
    ) async throws {
        let url = loopback.oneTimeURL { [scheme] () throws(AuthError) in
            do throws(AuthError) { return try target() } catch {
                scheme?.fail(error)
                throw error
            }
        }
        let obstacles = try await browser.open(url, watch)
        for obstacle in obstacles + [loopback.sameUserObstacle].compactMap(\.self) { observe(obstacle) }
    }

    func oneTimeURLsUsed() async throws { try await loopback.oneTimeURLsUsed() }

    func redirect<Value: Sendable>(match: @escaping @Sendable (_ parameters: String) -> Value?) async throws -> Value {
        guard let scheme else { return try await loopback.redirect(match: match) }
        return try await scheme.redirect(match: match)
    }

    /// Shows the outcome to the user if the app can show a page.
    func finish(with page: CompletionPage) async {
        if scheme == nil { await loopback.finish(with: page) } else { close() }
    }

    func close() {
        loopback.close()
        scheme?.close()
    }
}
