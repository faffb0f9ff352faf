package import AppAuth
internal import Glibc
internal import ScriptedBrowser

/// Who sits at the browser: a person, or a script where there is no display.
package enum Person {
    /// Whether there is no display to show a browser on. A variable that is empty names none.
    package static var isAbsent: Bool {
        func isSet(_ variable: String) -> Bool { getenv(variable).map { $0.pointee != 0 } ?? false }
        return !isSet("DISPLAY") && !isSet("WAYLAND_DISPLAY")
    }

    /// Lets a scripted browser play the person's part; it keeps its cookies from one URL to the next. Its failure ends
    /// the body.
    ///
    /// - Parameters:
    ///   - entries: What is entered into a form's fields, by their names.
    ///   - leave: Gets the URLs of other schemes that it is sent to, as the desktop would, and a way to open others.
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

    /// The same at a double of 7Pass, for the person that it knows, with Facebook's app on the desktop.
    ///
    /// - Parameters:
    ///   - provider: By which service the person signs in, for example `facebook`; empty for the password.
    ///   - body: Gets the URLs of other schemes, as the desktop would bring them to the program that handles them.
    package static func scripted<Value: Sendable>(
        at location: Server.Place, choosing provider: String,
        _ body: @escaping @Sendable (Browser, _ urls: AsyncStream<String>) async throws -> Value
    ) async throws -> Value {
        var entries = ["provider": provider]
        for name in ["username", "password"] { entries[name] = location.demo[name]?.string }
        let (urls, bring) = AsyncStream.makeStream(of: String.self)
        return try await scripted(Environment.live.transport, entries: entries) { url, open in
            // The double plays that app.
            let isForFacebook = url.hasPrefix("fbauth2:")
            if isForFacebook { open(location.url + "/facebook/app" + url.drop { $0 != "?" }) } else { bring.yield(url) }
        } _: { browser in
            try await body(browser, urls)
        }
    }
}
