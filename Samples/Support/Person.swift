package import AppAuth
internal import Glibc
internal import ScriptedBrowser

/// The user at the browser, or a script if there is no display.
package enum Person {
    /// Whether there is no display for a browser. An empty variable counts as unset.
    package static var isAbsent: Bool {
        func isSet(_ variable: String) -> Bool { getenv(variable).map { $0.pointee != 0 } ?? false }
        return !isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY")
    }

    /// Runs the body with a scripted browser, which keeps its cookies between URLs. If the browser fails, the body is
    /// cancelled and the error thrown.
    ///
    /// - Parameters:
    ///   - entries: The values for a form's fields, by their names.
    ///   - leave: Called with each URL of another scheme, as the desktop would be, and a function that opens further
    ///     URLs.
    package static func scripted<Value: Sendable>(
        _ transport: any HTTPTransport, entries: [String: String],
        leave: @escaping @Sendable (_ url: String, _ open: (String) -> Void) -> Void = { _, _ in },
        _ body: @escaping @Sendable (Browser) async throws -> Value
    ) async throws -> Value {
        let (visits, visit) = AsyncStream.makeStream(of: String.self)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body(Browser { url in visit.yield(url) }) }
            group.addTask {
                let browser = ScriptedBrowser(transport: transport, entries: entries) { url in
                    leave(url) { visit.yield($0) }
                }
                for await url in visits { try await browser.visit(url) }
                return nil
            }
            defer { group.cancelAll() }
            while let value = try await group.next() {
                if let value { return value }
            }
            throw CancellationError()
        }
    }

    /// Runs the body with a scripted browser at a double of 7Pass, as its user, with Facebook's app on the desktop.
    ///
    /// - Parameters:
    ///   - provider: The service with which the user signs in, for example `facebook`; empty for the password.
    ///   - body: Called with the browser, and with the URLs of other schemes that the desktop would deliver to their
    ///     handler.
    package static func scripted<Value: Sendable>(
        at location: Server.Place, choosing provider: String,
        _ body: @escaping @Sendable (Browser, _ urls: AsyncStream<String>) async throws -> Value
    ) async throws -> Value {
        var entries = ["provider": provider]
        for name in ["username", "password"] { entries[name] = location.demo[name]?.string }
        let (urls, bring) = AsyncStream.makeStream(of: String.self)
        return try await scripted(Environment.live.transport, entries: entries) { url, open in
            // The double simulates that app.
            let isForFacebook = url.hasPrefix("fbauth2:")
            if isForFacebook { open(location.url + "/facebook/app" + url.drop { $0 != "?" }) } else { bring.yield(url) }
        } _: { browser in
            try await body(browser, urls)
        }
    }
}
