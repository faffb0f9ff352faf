internal import AppAuthProtocol

/// Opens a URL where the person is: in the browser of the desktop, or wherever the app wants it.
///
/// ```swift
/// try await Browser.system.open(listener.oneTimeURL(redirectingTo: request.url))
/// let browser = Browser { url in await webView.load(url) }
/// ```
/// A program is started without a shell and on its own: it outlives the app, inherits none of its files, and writes
/// nothing into its output.
public struct Browser: Sendable {
    private let opener: @Sendable (String) async throws -> [BrowserObstacle]

    /// The browser that `$BROWSER` names, else the desktop's.
    ///
    /// `$BROWSER` is a list, split at colons, whose entries have the form described at ``init(candidates:)``; those that
    /// show pages in a terminal are passed over. Where it is unset or empty, the desktop's openers are tried: wslview
    /// under WSL; xdg-open, then gio, where there is a display, or in a Flatpak or Snap, where both lead to the portal.
    /// They are left alone where the desktop is another user's (sudo), and where the default browser is one for the
    /// terminal. Environment and surroundings are looked at when a URL is opened.
    public static var system: Browser { Browser(in: { .current }) }

    package init(in desktop: @escaping @Sendable () -> DesktopSession) {
        opener = { url in
            let ladder = BrowserLadder(in: desktop())
            guard let failure = await BrowserLauncher(commands: ladder.commands).launch(url) else {
                return ladder.obstacles.filter(\.remains)
            }
            throw Self.error(tried: ladder.commands.isEmpty ? nil : failure, ladder.obstacles)
        }
    }

    /// The first of several programs that can be started and does not fail within half a second.
    ///
    /// - Parameter candidates: Each a program and its arguments, split at spaces; no shell looks at them. `%s` stands
    ///   for the URL; without it the URL is added as the last argument.
    public init(candidates: [String]) {
        let launcher = BrowserLauncher(commands: candidates.map { BrowserCommand($0) })
        opener = { url in
            if let failure = await launcher.launch(url) { throw Self.error(tried: failure, []) }
            return []
        }
    }

    /// A way of the app's own.
    ///
    /// - Parameter open: Opens a URL whose scheme is http or https; throws if it cannot. Not expected to wait until the
    ///   person is done with it.
    public init(_ open: @escaping @Sendable (_ url: String) async throws -> Void) {
        opener = { url in
            try await open(url)
            return []
        }
    }

    /// Opens a URL. Returns when a browser runs or has taken the URL, half a second after its start at the latest: a
    /// browser is never waited for. Cancelling the task changes nothing about that.
    ///
    /// - Parameter url: http or https, without control characters; anything else is refused, since an opener would
    ///   start other programs for other schemes. A character that a shell could take for a command is percent-encoded.
    ///   Every user of this machine can read a program's arguments: for a URL with a secret or from somebody else, open
    ///   a ``LoopbackRedirectListener/oneTimeURL(redirectingTo:)``.
    /// - Returns: What may keep the person from that browser, or the browser from this machine, all the same; mostly
    ///   nothing.
    /// - Throws: ``AuthError`` `.browser` that says what was tried and why it could not be started, and what is in the
    ///   way here (``BrowserObstacle``); `.invalidConfiguration` for a URL that is refused; `CancellationError`. An
    ///   opener's other errors become `.browser`.
    @discardableResult
    public func open(_ url: String) async throws -> [BrowserObstacle] {
        guard Self.isAcceptable(url) else {
            throw AuthError(
                .invalidConfiguration, .browser,
                "expected an http or https URL without control characters for the browser, found another text",
                outcome: .notSent)
        }
        let url = OpenerURL.encoded(url)
        do { return try await opener(url) } catch let error as AuthError { throw error } catch let error
            as CancellationError
        {
            throw error
        } catch {
            throw AuthError(
                .browser, .browser, "the browser could not be opened: \(type(of: error))", outcome: .notSent)
        }
    }

    private static func error(tried: String?, _ obstacles: [BrowserObstacle]) -> AuthError {
        let attempts = tried.map { ["expected a browser or a desktop's opener, found \($0)"] } ?? []
        let message = (attempts + obstacles.map(\.message)).joined(separator: "; ")
        return AuthError(.browser, .browser, message, outcome: .notSent)
    }

    private static func isAcceptable(_ url: String) -> Bool {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return (scheme == "http" || scheme == "https") && url.dropFirst(scheme.count).hasPrefix("://")
            && url.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
