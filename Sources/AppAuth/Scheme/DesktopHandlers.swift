internal import FoundationEssentials

/// A query for the program that the desktop starts for the URLs of a scheme.
///
/// ``SignOut`` uses it to find out whether the browser can come back by a scheme.
public struct DesktopHandlers: Sendable {
    private let query: @Sendable (String) async -> String?

    /// Creates a query of the app's own.
    ///
    /// - Parameter query: Returns the desktop entry that handles a type such as `x-scheme-handler/fbauth2`; nil or an
    ///   empty string if there is none.
    public init(_ query: @escaping @Sendable (_ type: String) async -> String?) { self.query = query }

    /// Reads the lists of the desktop's default programs and of those that are installed, as xdg-open does. It starts no
    /// program.
    public static let system = DesktopHandlers {
        DefaultHandler.installed(for: $0, in: ProcessInfo.processInfo.environment)
    }

    /// Returns whether the desktop has a program for a scheme.
    public func handles(scheme: String) async -> Bool {
        await query("x-scheme-handler/" + scheme).map { $0.contains { !$0.isWhitespace } } ?? false
    }
}
