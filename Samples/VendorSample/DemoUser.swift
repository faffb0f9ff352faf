public import AppAuth
internal import Foundation
internal import ScriptedBrowser

/// The user at the browser: a script if there is no display.
public enum DemoUser {
    /// Whether no browser can start: there is no display, and the user has named no browser that may need none. An empty
    /// variable counts as unset.
    private static var hasNoBrowser: Bool {
        let variables = ProcessInfo.processInfo.environment
        return ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].allSatisfy { (variables[$0] ?? "").isEmpty }
    }

    /// Runs the body with the browser in which the user signs in at 7Pass: the desktop's, none, or a script at a double.
    ///
    /// - Parameters:
    ///   - isReal: Whether a person signs in, even without a display.
    ///   - provider: The service with which the user signs in, for example `facebook`; empty for the password.
    ///   - body: Called with the browser, and with the responses of that service; nil if the desktop brings them.
    public static func visit(
        _ location: Server.Location, isReal: Bool, headless: Bool, choosing provider: String,
        _ body: @escaping @Sendable (Browser?, _ responses: AsyncStream<String>?) async throws -> Void
    ) async throws {
        guard isReal || !headless && !hasNoBrowser else {
            tell(
                provider.isEmpty
                    ? "There is no display and no BROWSER (or --headless). A scripted browser signs in."
                    : "A scripted browser signs in, and simulates \(provider.capitalized).")
            return try await scripted(at: location, choosing: provider, body)
        }
        if let name = location.demo["username"]?.string {
            tell("Sign in as \(name), with the password \(location.demo["password"]?.string ?? "").")
        }
        try await body(headless ? nil : .system, headless && !provider.isEmpty ? .linesOfStandardInput : nil)
    }

    /// Signs in as the user of a double. Facebook's app is on the desktop.
    ///
    /// - Parameter body: Called with the browser, and with the URLs of other schemes that the desktop would deliver to
    ///   their handler.
    private static func scripted<Value: Sendable>(
        at location: Server.Location, choosing provider: String,
        _ body: @escaping @Sendable (Browser, _ urls: AsyncStream<String>) async throws -> Value
    ) async throws -> Value {
        var entries = ["provider": provider]
        for name in ["username", "password"] { entries[name] = location.demo[name]?.string }
        let facebook = location.demo["facebook_url"]?.string ?? ""
        let ofFacebook = "fb" + (location.demo["facebook_app_id"]?.string ?? "")
        let (urls, bring) = AsyncStream.makeStream(of: String.self)
        return try await withRuntimeFolder {
            try await withScriptedBrowser(entries: entries) { url, open in
                switch url {
                // The double simulates that app.
                case _ where url.hasPrefix("fbauth2:"): open(facebook + "/facebook/app" + url.drop { $0 != "?" })
                case _ where url.hasPrefix(ofFacebook): bring.yield(url)
                default: do { try PrivateUseRedirect.deliver(url) } catch { tell("\(error)") }
                }
            } _: { browser in
                try await body(browser, urls)
            }
        }
    }

    /// Makes a folder for the redirects to private-use schemes, if no login has made one: in a container, for example.
    private static func withRuntimeFolder<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? "" == "" else { return try await body() }
        let folder = FileManager.default.temporaryDirectory.appending(component: "run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        setenv("XDG_RUNTIME_DIR", folder.path, 1)
        defer {
            unsetenv("XDG_RUNTIME_DIR")
            try? FileManager.default.removeItem(at: folder)
        }
        return try await body()
    }
}
