internal import AppAuthProtocol
internal import AppAuthSession
internal import JOSE

extension SignOut {
    /// Returns a listener, and the reason why the provider cannot send the browser back to it, if there is one.
    func wayBack(
        for record: AuthStateRecord, _ pages: CompletionPages
    ) async throws -> (RedirectListener, obstacle: AuthError?) {
        let obstacle: AuthError
        switch try target(of: record) {
        case nil:
            obstacle = AuthError(
                .invalidConfiguration, .logout,
                "no post-logout redirect URI is registered for the client, so the provider cannot confirm the sign-out")
        case .privateUse(let redirect)? where await isUnhandled(redirect):
            obstacle = AuthError(
                .unavailable, .logout,
                "no program handles the scheme \(redirect.scheme) now, so the provider could not send the browser back. "
                    + "Set SignOut.postLogoutRedirect to .privateUse")
        case let target?:
            do { return (try await listener(at: target, pages), nil) } catch let error as AuthError {
                obstacle = AuthError(
                    .listener, .logout, "the app cannot receive the redirect after the sign-out: \(error.message)")
            }
        }
        do { return (try await listener(at: nil, pages), obstacle) } catch let error as AuthError {
            // Not even the one-time URL works: the user can still open the page by hand.
            throw try leave(record, because: error)
        }
    }

    /// Returns whether the desktop starts no program for a scheme that the app has not chosen itself.
    private func isUnhandled(_ redirect: PrivateUseRedirect) async -> Bool {
        guard postLogoutRedirect == .automatic else { return false }
        return await !desktop.handles(scheme: redirect.scheme)
    }

    /// Returns the address that the provider may redirect to, or nil for none.
    private func target(of record: AuthStateRecord) throws -> Target? {
        switch postLogoutRedirect {
        case .nowhere: return nil
        case .privateUse(let redirect): return .privateUse(redirect)
        case .uri(let uri):
            guard let address = LoopbackAddress(uri) else {
                throw AuthError(
                    .invalidConfiguration, .logout,
                    "expected a post-logout redirect URI on loopback with a path, found \(uri.foundText)")
            }
            return .loopback(address)
        case .automatic:
            let signIn = record.redirectURI.flatMap(target(at:))
            guard let registration = record.client.registration else { return signIn ?? .loopback(LoopbackAddress()) }
            let listed = (registration.metadata.postLogoutRedirectURIs ?? []).compactMap(target(at:))
            // A scheme that the app has not used may be another app's: the provider must not choose it.
            let registered = listed.filter { target in target.isLoopback || signIn.map(target.matches) == true }
            // The provider accepts the port of the sign-in. Otherwise, prefer a URI with a fixed port, and loopback, which
            // needs no handler on the desktop.
            if let signIn, registered.contains(where: { $0.matches(signIn) }) { return signIn }
            return registered.first { $0.hasFixedPort } ?? registered.first { $0.isLoopback } ?? registered.first
        }
    }

    /// Returns how the app receives a redirect to a URI, or nil if it cannot.
    private func target(at uri: String) -> Target? {
        if let address = LoopbackAddress(uri) { return .loopback(address) }
        let redirect = try? PrivateUseRedirect(uri, appName: appName, arguments: [], installation: .byPackage)
        return redirect.map(Target.privateUse)
    }

    /// Opens a listener at the redirect address, since providers compare it with the registered one. If its port is
    /// taken, a free port is used: most providers do not compare the port of a loopback address (RFC 8252 §7.3).
    private func listener(at target: Target?, _ pages: CompletionPages) async throws -> RedirectListener {
        var redirect = SignIn.Redirect()
        redirect.sameUser = sameUser
        switch target {
        case .loopback(let address):
            (redirect.host, redirect.ports, redirect.path) = (address.host, [address.port, 0], address.path)
            guard address.isSecure else { break }
            guard let redirectCertificate else {
                throw AuthError(.invalidConfiguration, .logout, "an https address needs the certificate of the sign-in")
            }
            redirect.certificate = redirectCertificate
        case .privateUse(let privateUse): redirect.privateUse = privateUse
        case nil: break
        }
        return try await RedirectListener(redirect, responseMode: .query, pages: pages)
    }
}

/// The way in which the provider sends the browser back after a sign-out.
private enum Target {
    case loopback(LoopbackAddress)
    case privateUse(PrivateUseRedirect)

    var isLoopback: Bool { if case .loopback = self { true } else { false } }

    var hasFixedPort: Bool {
        if case .loopback(let address) = self { address.port != 0 } else { false }
    }

    /// Returns whether a provider that registered this address accepts the other.
    func matches(_ other: Target) -> Bool {
        switch (self, other) {
        case (.loopback(let address), .loopback(let other)): address.matches(other)
        case (.privateUse(let redirect), .privateUse(let other)): redirect.redirectURI == other.redirectURI
        default: false
        }
    }
}

/// A loopback address that the provider redirects the browser to.
private struct LoopbackAddress {
    var host = LoopbackRedirectListener.Host.ipv4
    /// 0 is any port.
    var port: UInt16 = 0
    var path = "/callback"
    var isSecure = false

    init() {}

    init?(_ uri: String) {
        // The provider compares the whole URI, except perhaps the port.
        guard let url = try? SecureURL(uri), url.endsWithPath else { return nil }
        switch url.host {
        case "127.0.0.1": host = .ipv4
        case "[::1]": host = .ipv6
        case "localhost": host = .localhost
        default: return nil
        }
        (port, path, isSecure) = (url.port ?? 0, url.path, url.scheme == "https")
    }

    /// Returns whether the two addresses are equal. If this address has port 0, any port of the other matches.
    func matches(_ other: LoopbackAddress) -> Bool {
        host == other.host && path == other.path && isSecure == other.isSecure && (port == 0 || port == other.port)
    }
}
