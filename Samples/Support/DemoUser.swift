package import AppAuth
internal import Foundation
internal import ScriptedBrowser

/// The user at the browser: a script if there is no display.
package enum DemoUser {
    /// Whether there is no display for a browser. An empty variable counts as unset.
    package static var hasNoDisplay: Bool {
        let variables = ProcessInfo.processInfo.environment
        return ["DISPLAY", "WAYLAND_DISPLAY"].allSatisfy { (variables[$0] ?? "").isEmpty }
    }

    /// Runs the body with a scripted browser, which signs in as the user of a double of 7Pass. Facebook's app is on the
    /// desktop.
    ///
    /// - Parameters:
    ///   - provider: The service with which the user signs in, for example `facebook`; empty for the password.
    ///   - body: Called with the browser, and with the URLs of other schemes that the desktop would deliver to their
    ///     handler.
    package static func scripted<Value: Sendable>(
        at location: Server.Location, choosing provider: String,
        _ body: @escaping @Sendable (Browser, _ urls: AsyncStream<String>) async throws -> Value
    ) async throws -> Value {
        var entries = ["provider": provider]
        for name in ["username", "password"] { entries[name] = location.demo[name]?.string }
        let facebook = location.demo["facebook_url"]?.string ?? ""
        let (urls, bring) = AsyncStream.makeStream(of: String.self)
        return try await withScriptedBrowser(entries: entries) { url, open in
            // The double simulates that app.
            let isForFacebook = url.hasPrefix("fbauth2:")
            if isForFacebook { open(facebook + "/facebook/app" + url.drop { $0 != "?" }) } else { bring.yield(url) }
        } _: { browser in
            try await body(browser, urls)
        }
    }
}
