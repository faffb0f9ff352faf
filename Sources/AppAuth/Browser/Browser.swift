internal import AppAuthProtocol

/// A way to open a URL for the user, in the desktop's browser or as the app chooses.
///
/// ```swift
/// try await Browser.system.open(listener.oneTimeURL(redirectingTo: request.url))
/// let browser = Browser { url in try await desktop.open(url) }
/// ```
/// A program is started without a shell and runs independently: it outlives the app, inherits none of its files, and
/// writes nothing to its output.
public struct Browser: Sendable {
    private let opener: @Sendable (String, BrowserWatch) async throws -> [BrowserObstacle]

    /// The browser that `$BROWSER` names, or else the desktop's.
    ///
    /// `$BROWSER` is a list of entries separated by colons, in the form described at ``init(candidates:)``. Entries
    /// that show pages in a terminal are skipped. If it is unset or empty, the desktop's openers are tried: wslview and
    /// powershell.exe under WSL; xdg-open, then gio, if there is a display. In a Flatpak or Snap, both are also tried without a
    /// display, since they use the portal there.
    ///
    /// xdg-open and gio are not used if the desktop belongs to another user (sudo), except under WSL. They are also not
    /// used if the default browser is one for the terminal, except in a Flatpak or Snap. The environment is examined
    /// each time a URL is opened.
    public static var system: Browser { Browser(in: { .current }) }

    package init(in desktop: @escaping @Sendable () -> DesktopSession) {
        opener = { url, watch in
            let ladder = BrowserLadder(in: desktop())
            guard let failure = await BrowserLauncher(commands: ladder.commands).launch(url, watch) else {
                return ladder.remainingObstacles
            }
            throw Self.error(tried: ladder.commands.isEmpty ? nil : failure, ladder.obstacles)
        }
    }

    /// Creates a browser that starts the first of several programs that does not fail within half a second. If it fails
    /// within a minute, the next one is started.
    ///
    /// - Parameter candidates: The programs with their arguments, split at spaces and not interpreted by a shell. Quotes
    ///   group words, and a path of an existing program is one word. `%s` is replaced by the URL. Without it, the URL is added
    ///   as the last argument.
    public init(candidates: [String]) {
        let launcher = BrowserLauncher(commands: candidates.map { BrowserCommand($0) })
        opener = { url, watch in
            if let failure = await launcher.launch(url, watch) { throw Self.error(tried: failure, []) }
            return []
        }
    }

    /// Creates a browser from the app's own function.
    ///
    /// - Parameter open: Opens an http or https URL and throws if it cannot. It should not wait for the user.
    public init(_ open: @escaping @Sendable (_ url: String) async throws -> Void) {
        opener = { url, _ in
            try await open(url)
            return []
        }
    }

    /// Opens a URL.
    ///
    /// Returns once a browser runs or has taken the URL, at most half a second after the start of each program. It
    /// never waits for a browser to end. Cancelling the task does not stop the program.
    ///
    /// - Parameter url: An http or https URL without control characters. Other URLs are rejected, since an opener would
    ///   start other programs for other schemes. Characters that a shell could interpret are percent-encoded. Every
    ///   user of this machine can read a program's arguments: for a URL with a secret or from an untrusted source, open
    ///   a ``LoopbackRedirectListener/oneTimeURL(redirectingTo:)``.
    /// - Returns: Obstacles that may still separate the user, the browser and this machine; usually none.
    /// - Throws: ``AuthError`` `.browser`, which names the programs that were tried, the reasons why they failed and
    ///   the obstacles (``BrowserObstacle``); `.invalidConfiguration` for a rejected URL; `CancellationError`. Other
    ///   errors of an opener become `.browser`.
    @discardableResult
    public func open(_ url: String) async throws -> [BrowserObstacle] { try await open(url, BrowserWatch { _ in }) }

    /// As ``open(_:)``.
    ///
    /// - Parameter watch: Learns if a program fails later.
    package func open(_ url: String, _ watch: BrowserWatch) async throws -> [BrowserObstacle] {
        guard Self.isAcceptable(url) else {
            throw AuthError(
                .invalidConfiguration, .browser,
                "expected an http or https URL without control characters for the browser, found another text")
        }
        let url = url.openedURL
        do { return try await opener(url, watch) } catch let error as AuthError { throw error } catch let error
            as CancellationError
        {
            throw error
        } catch {
            throw AuthError(
                .browser, .browser, "the browser could not be opened: \(AuthError.summary(of: error))",
                outcome: .notSent)
        }
    }

    private static func error(tried: String?, _ obstacles: [BrowserObstacle]) -> AuthError {
        let attempts = tried.map { [$0] } ?? []
        let message = (attempts + obstacles.map(\.message)).joined(separator: "; ")
        return AuthError(.browser, .browser, message, outcome: .notSent)
    }

    private static func isAcceptable(_ url: String) -> Bool {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return (scheme == "http" || scheme == "https") && url.dropFirst(scheme.count).hasPrefix("://")
            && url.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
