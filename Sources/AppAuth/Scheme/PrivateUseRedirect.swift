internal import AppAuthProtocol
internal import Glibc

/// A redirect to a scheme of the app's own, for clients that are registered with one (RFC 8252 §7.1).
///
/// ```swift
/// // First thing in the app's main: what the desktop has started for a redirect hands it over, and ends.
/// if CommandLine.arguments.dropFirst().first == "--redirect", let url = CommandLine.arguments.last {
///     do { try PrivateUseRedirect.deliver(url) } catch { exit(1) }
///     exit(0)
/// }
/// signIn.redirect.privateUse = try PrivateUseRedirect(
///     "com.example.app:/callback", appName: "My App", arguments: ["--redirect"])
/// ```
/// The browser asks the desktop who handles the scheme; a desktop entry says that it is this app. The desktop starts the
/// app a second time, with the URL as its last argument, and that process hands it to the one that waits.
///
/// Prefer ``LoopbackRedirectListener`` where the provider lets you: it is what RFC 8252 recommends on Linux (§7.3,
/// appendix B.5).
/// - Any program can register the same scheme, and nobody is asked: the redirect may end there. PKCE makes the code worth
///   nothing to it, but the sign-in fails (§8.1). A scheme that is the app's domain in reverse, which §8.4 has providers
///   insist on, keeps accidents away and nobody else.
/// - The URL, with code and state, stands in an argument list, which for that moment every user of the machine can read.
/// - The browser may ask the person before it hands the URL on. Its page stays as it was: the app has none to show there.
/// - It takes a desktop that knows who handles what, where loopback takes a browser alone. In Flatpak and Snap the desktop
///   can start no program of the app's by its path, and the two processes share no folder.
public struct PrivateUseRedirect: Sendable, Hashable {
    /// Who makes the app the handler of its scheme, and for how long.
    public enum Installation: Sendable, Hashable {
        /// The library, from the start of the wait to its end: then everything is as it was.
        case whileWaiting
        /// The library, for good: ``PrivateUseRedirect/uninstall()`` takes it back.
        case permanent
        /// Somebody else, for example the app's package with a desktop entry that has `x-scheme-handler/…` among its
        /// `MimeType`: the library only waits.
        case byPackage
    }

    /// The redirect URI, as it is registered with the provider.
    public var redirectURI: String { uri.string }
    /// The app's name, for desktops that show who handles a scheme.
    public let appName: String
    /// The program that the desktop starts, and its arguments; the URL follows as the last one.
    public let handler: [String]
    /// Who makes the app the handler.
    public let installation: Installation
    let uri: PrivateUseURI

    /// Describes a redirect; nothing is installed yet.
    ///
    /// - Parameters:
    ///   - redirectURI: For example `com.example.app:/callback`: the app's domain in reverse, one slash, a path. Without
    ///     query, fragment and dots; the scheme in lower case. Compared byte for byte. A scheme without a dot is taken,
    ///     for clients that were registered with one; schemes that belong to others (`https`, `mailto`, …) are not.
    ///   - appName: What the desktop calls the app.
    ///   - arguments: What tells the started program that it has to call ``deliver(_:)``. The URL follows them.
    ///   - program: The absolute path of the program; nil means this one. Where no desktop environment runs, xdg-open
    ///     splits the command at its spaces and knows no quotes: none of these texts should need any.
    ///   - installation: Who makes the app the handler.
    /// - Throws: ``AuthError`` `.invalidConfiguration`.
    public init(
        _ redirectURI: String, appName: String, arguments: [String], program: String? = nil,
        installation: Installation = .whileWaiting
    ) throws {
        uri = try PrivateUseURI(redirectURI)
        let program = try program ?? Self.thisProgram()
        (self.appName, self.installation, handler) = (appName, installation, [program] + arguments)
        guard handler.allSatisfy({ $0.isExactly($0.onOneLine) }), program.hasPrefix("/"), !program.contains("=") else {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected the absolute path of a program without =, and arguments without control characters, found \(program)",
                outcome: .notSent)
        }
    }

    /// Makes the app the handler of its scheme for good, whatever ``installation`` says.
    ///
    /// - Throws: ``AuthError`` `.unavailable` without xdg-mime or a folder to write to; `.listener` for an entry of this
    ///   name that is not the library's.
    public func install() async throws { try await install(in: DesktopFolders.current()) }

    package func install(in folders: DesktopFolders) async throws {
        let registration = SchemeRegistration(uri.scheme, folders)
        try await onThread(named: "appauth-scheme", for: .redirect) {
            try registration.folder.locked(.entry) { try registration.write(self, isTemporary: false) }
        }
        try await registration.makeDefault()
        await registration.updateCache()
    }

    /// Takes ``install()`` back: removes the desktop entry, and makes the handler of before the default again.
    ///
    /// - Throws: ``AuthError`` `.unavailable` for files that cannot be changed.
    public func uninstall() async throws { try await uninstall(from: DesktopFolders.current()) }

    package func uninstall(from folders: DesktopFolders) async throws {
        let registration = SchemeRegistration(uri.scheme, folders)
        try await onThread(named: "appauth-scheme", for: .redirect) {
            try registration.folder.locked(.entry) { try registration.remove(ifTemporary: false) }
        }
        await registration.updateCache()
    }

    /// Hands a redirect to the process of this user that waits for it: for the program that the desktop has started.
    ///
    /// Blocks until it is taken, some milliseconds as a rule, and five seconds at most for each process that waits. Where
    /// several wait, the one takes it whose request has the state.
    ///
    /// - Parameter url: What the desktop gave: the whole redirect, at most 16 KiB. Nothing of it gets into an error.
    /// - Throws: ``AuthError`` `.listener` if nobody takes it.
    public static func deliver(_ url: String) throws { try RedirectDelivery.send(url, try DesktopFolders.current()) }

    /// The program of this process.
    private static func thisProgram() throws -> String {
        guard let path = realpath("/proc/self/exe", nil) else {
            throw AuthError(
                .unavailable, .redirect, "the path of this program is not known: \(SystemError.text(errno))",
                outcome: .notSent)
        }
        defer { free(path) }
        return String(cString: path)
    }
}
