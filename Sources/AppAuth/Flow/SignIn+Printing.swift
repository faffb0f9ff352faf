internal import AppAuthConcurrency
package import AppAuthProtocol
internal import Glibc
internal import JOSE

extension SignIn {
    /// An observer that prints to standard error what the user needs if the browser does not open or does not come back: the
    /// authorization URL, why no browser was started, and after a while what to compare with the registration of the client
    /// (``Event/stillWaiting(_:)``).
    ///
    /// It is the default of ``observe`` if standard error is a terminal. For a log, or to use it in an observer of the app's
    /// own, `signIn.observe = SignIn.printURL`.
    public static let printURL: @Sendable (Event) -> Void = { event in
        switch event {
        case .authorization(let url):
            StandardError.print("If no browser opens, open this URL in one:", url.quotedAgainstJobs)
        case .withoutBrowser(let error?, _):
            StandardError.print(
                "No browser could be started: \(error.message). Open the URL above in any browser on this computer.")
        case .stillWaiting(let request): for line in request.whatToCompare { StandardError.print(line) }
        default: break
        }
    }

    /// Returns an observer that prints to a terminal. To a file or a log, it prints only if no browser was started: without
    /// the URL, the sign-in would wait in vain.
    static func defaultObserver() -> @Sendable (Event) -> Void {
        let unprinted = LockedValue<Event?>(nil)
        return { event in
            if isatty(STDERR_FILENO) == 1 { return printURL(event) }
            switch event {
            case .authorization: unprinted.withLock { $0 = event }
            case .withoutBrowser:
                if let url = unprinted.withLock({ $0.take() }) { printURL(url) }
                printURL(event)
            case .stillWaiting: if unprinted.withLock({ $0 == nil }) { printURL(event) }
            default: break
            }
        }
    }
}

extension AuthorizationRequest {
    /// What the user can compare with the registration of the client, in lines.
    package var whatToCompare: [String] {
        let isUnknownURL = (try? SecureURL(client.id)) != nil && !client.provider.supportsClientIDMetadataDocuments
        let doubt = " (a URL: the provider’s metadata does not mention client ID metadata documents)"
        let lifetime = urlLifetime.map { seconds in
            "The URL above can be opened for \(seconds) s. If the page says that it has expired, sign in again."
        }
        return [lifetime].compactMap(\.self) + [
            "Still waiting for the browser. If it shows an error, compare this with what is registered at the provider:",
            "  client ID: \(client.id.shownName)\(isUnknownURL ? doubt : "")",
            "  redirect URI: \(redirectURI)",
            "  scope: \((scope.spaceDelimited ?? "").shownName)",
        ]
    }
}
