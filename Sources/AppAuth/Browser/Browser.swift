internal import AppAuthCore
internal import FoundationEssentials

/// Opens a URL where the person is: in the browser of the desktop, or wherever the app wants it.
///
/// ```swift
/// try await Browser.system.open("https://provider.example/authorize?…")
/// let browser = Browser { url in await webView.load(url) }
/// ```
/// A program is started without a shell and on its own: it outlives the app, inherits none of its files, and writes
/// nothing into its output.
public struct Browser: Sendable {
    private let opener: @Sendable (String) async throws -> Void

    /// The browser that `$BROWSER` names, else the desktop's.
    ///
    /// `$BROWSER` is a list, split at colons, whose entries have the form described at ``init(candidates:)``. Where it
    /// is unset or empty, xdg-open, gio and wslview are tried. The environment is read when a URL is opened.
    public static var system: Browser {
        Browser { url in
            let candidates = candidates(in: ProcessInfo.processInfo.environment)
            try await Browser(candidates: candidates).open(url)
        }
    }

    /// The first of several programs that can be started and does not fail within half a second.
    ///
    /// - Parameter candidates: Each a program and its arguments, split at spaces; no shell looks at them. `%s` stands
    ///   for the URL; without it the URL is added as the last argument.
    public init(candidates: [String]) {
        let launcher = BrowserLauncher(commands: candidates.map(BrowserCommand.init))
        opener = { url in try await launcher.launch(url) }
    }

    /// A way of the app's own.
    ///
    /// - Parameter open: Opens a URL whose scheme is http or https; throws if it cannot. Not expected to wait until the
    ///   person is done with it.
    public init(_ open: @escaping @Sendable (_ url: String) async throws -> Void) { opener = open }

    /// Opens a URL. Returns when a browser runs or has taken the URL, half a second after its start at the latest: a
    /// browser is never waited for. Cancelling the task changes nothing about that.
    ///
    /// - Parameter url: http or https, without control characters; anything else is refused, since an opener would
    ///   start other programs for other schemes.
    /// - Throws: ``AuthError`` `.browser` that says what was tried and why it could not be started;
    ///   `.invalidConfiguration` for a URL that is refused; `CancellationError`. An opener's other errors become `.browser`.
    public func open(_ url: String) async throws {
        guard Self.isAcceptable(url) else {
            throw AuthError(
                .invalidConfiguration, .browser,
                "expected an http or https URL without control characters for the browser, found another text",
                outcome: .notSent)
        }
        do { try await opener(url) } catch let error as AuthError { throw error } catch let error as CancellationError {
            throw error
        } catch {
            throw AuthError(
                .browser, .browser, "the browser could not be opened: \(type(of: error))", outcome: .notSent)
        }
    }

    private static func isAcceptable(_ url: String) -> Bool {
        let scheme = url.prefix { $0 != ":" }.lowercased()
        return (scheme == "http" || scheme == "https") && url.dropFirst(scheme.count).hasPrefix("://")
            && url.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }

    /// What ``system`` tries.
    package static func candidates(in environment: [String: String]) -> [String] {
        let named = environment["BROWSER", default: ""].split(separator: ":").map(String.init)
        let usable = named.filter { $0.contains { $0 != " " } }
        return usable.isEmpty ? ["xdg-open", "gio open", "wslview"] : usable
    }
}
