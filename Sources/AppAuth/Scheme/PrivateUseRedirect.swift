internal import AppAuthProtocol
internal import Glibc

/// A redirect to a private-use scheme, for clients that are registered with one (RFC 8252 §7.1).
///
/// ```swift
/// // First thing in the app's main: if the desktop started this process for a redirect, deliver it and exit.
/// if CommandLine.arguments.dropFirst().first == "--redirect", let url = CommandLine.arguments.last {
///     do { try PrivateUseRedirect.deliver(url) } catch { exit(1) }
///     exit(0)
/// }
/// signIn.redirect.privateUse = try PrivateUseRedirect(
///     "com.example.app:/callback", appName: "My App", arguments: ["--redirect"])
/// ```
/// The browser asks the desktop which app handles the scheme, and a desktop entry names this app. The desktop starts
/// the app a second time, with the URL as its last argument. That process delivers the URL to the waiting one.
///
/// Prefer ``LoopbackRedirectListener`` if the provider permits it, as RFC 8252 recommends (§7.3, appendix B.5):
/// - Any program can register the same scheme without consent, and may then get the redirect. PKCE makes the code
///   useless to it, but the sign-in fails (§8.1). A scheme that is the app's domain in reverse, which
///   §8.4 tells providers to require, prevents accidents but not attacks.
/// - The URL, with code and state, is briefly in an argument list, which every user of the machine can read.
/// - The browser may ask the user before it passes the URL on. Its page does not change, since the app cannot show one.
/// - It requires a desktop that knows the handlers of schemes, while loopback requires only a browser. In Flatpak and
///   Snap, the desktop cannot start the app's program by its path, and the two processes share no folder.
public struct PrivateUseRedirect: Sendable, Hashable {
    /// The way in which the app becomes the handler of its scheme, and for how long.
    public enum Installation: Sendable, Hashable {
        /// The library installs the entry while it waits, and then restores the previous state.
        case whileWaiting
        /// The library installs the entry permanently. ``PrivateUseRedirect/uninstall()`` removes it.
        case permanent
        /// The library only waits. The app's package, for example, installs a desktop entry with `x-scheme-handler/…`
        /// in its `MimeType`.
        case byPackage
    }

    /// The redirect URI as registered with the provider.
    public var redirectURI: String { uri.string }
    /// The app's name, for desktops that show the handler of a scheme.
    public let appName: String
    /// The program that the desktop starts, and its arguments. The URL follows as the last argument.
    public let handler: [String]
    /// The way in which the app becomes the handler.
    public let installation: Installation
    let uri: PrivateUseURI
    /// The scheme that the app handles.
    package var scheme: String { uri.scheme }

    /// Creates a redirect. It does not install anything.
    ///
    /// - Parameters:
    ///   - redirectURI: The redirect URI, for example `com.example.app:/callback`: the app's domain in reverse in lower
    ///     case, one slash and a path, without query, fragment and dot segments. It is compared byte for byte. A scheme
    ///     without a dot is accepted, for clients that were registered with one. Schemes that belong to others
    ///     (`https`, `mailto`, …) are rejected.
    ///   - appName: The app's name in the desktop entry.
    ///   - arguments: Arguments that tell the started program to call ``deliver(_:)``. The URL follows them.
    ///   - program: The absolute path of the program, or nil for this one. Without a desktop environment, xdg-open
    ///     splits the command at its spaces and does not support quotes, so avoid texts that need quoting.
    ///   - installation: The way in which the app becomes the handler.
    /// - Throws: ``AuthError`` `.invalidConfiguration`.
    public init(
        _ redirectURI: String, appName: String, arguments: [String], program: String? = nil,
        installation: Installation = .whileWaiting
    ) throws {
        try self.init(
            PrivateUseURI(redirectURI), appName: appName, arguments: arguments, program: program,
            installation: installation)
    }

    /// Creates a redirect that accepts every URL of a scheme. A listener matches the whole URL, with its fragment.
    package init(
        scheme: String, appName: String, arguments: [String], program: String?, installation: Installation
    ) throws {
        try self.init(
            PrivateUseURI(scheme: scheme), appName: appName, arguments: arguments, program: program,
            installation: installation)
    }

    private init(
        _ uri: PrivateUseURI, appName: String, arguments: [String], program: String?, installation: Installation
    ) throws {
        self.uri = uri
        let program = try program ?? ThisProgram.path()
        (self.appName, self.installation, handler) = (appName, installation, [program] + arguments)
        guard handler.allSatisfy({ $0.isExactly($0.onOneLine) }), program.hasPrefix("/"), !program.contains("=") else {
            throw AuthError(
                .invalidConfiguration, .redirect,
                "expected the absolute path of a program without =, and arguments without control characters, found \(program)"
            )
        }
    }

    /// Makes the app the permanent handler of its scheme, regardless of ``installation``.
    ///
    /// - Throws: ``AuthError`` `.unavailable` if a writable folder is missing, or if another process holds the lock
    ///   of the redirects for 30 seconds; `.listener` if an entry of this name does not belong to the
    ///   library; `CancellationError`.
    public func install() async throws { try await install(in: DesktopFolders.current()) }

    package func install(in folders: DesktopFolders) async throws {
        let registration = SchemeRegistration(uri.scheme, folders)
        let commitment = Commitment()
        try await onThread(named: "appauth-scheme", for: .redirect, commitment) {
            try registration.folder.locked(commitment) { try registration.write(self, isTemporary: false) }
        }
        await registration.updateCache()
    }

    /// Reverts ``install()``: removes the desktop entry and restores the previous default handler.
    ///
    /// - Throws: ``AuthError`` `.unavailable` if a file cannot be changed, or if another process holds the lock of the
    ///   redirects for 30 seconds; `CancellationError`.
    public func uninstall() async throws { try await uninstall(from: DesktopFolders.current()) }

    package func uninstall(from folders: DesktopFolders) async throws {
        let registration = SchemeRegistration(uri.scheme, folders)
        let commitment = Commitment()
        try await onThread(named: "appauth-scheme", for: .redirect, commitment) {
            try registration.folder.locked(commitment) { try registration.remove(ifTemporary: false) }
        }
        await registration.updateCache()
    }

    /// Delivers a redirect to the waiting process of this user. Call it in the program that the desktop has started.
    ///
    /// Blocks until a process takes the redirect, usually a few milliseconds. Each step of each waiting process takes
    /// at most five seconds. If several processes wait, the one whose request has the state takes the redirect.
    ///
    /// - Parameter url: The whole redirect as the desktop passed it, at most 16 KiB. No part of it appears in an error.
    /// - Throws: ``AuthError`` `.listener` if no process takes the redirect; `.unavailable` if `$XDG_RUNTIME_DIR` is
    ///   missing or not safe to use.
    public static func deliver(_ url: String) throws { try RedirectDelivery.send(url, try DesktopFolders.current()) }
}
