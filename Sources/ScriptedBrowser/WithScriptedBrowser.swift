public import AppAuth
public import AppAuthProtocol

/// Runs a sign-in or a sign-out with a browser that fills in forms by itself and keeps its cookies between URLs.
///
/// If the browser fails before the body returns, the body is cancelled and the error thrown. If the body returns first,
/// the browser still loads what the body has opened, as a real one would, and its errors are ignored.
///
/// ```swift
/// let state = try await withScriptedBrowser(entries: ["username": "alice", "password": "looking-glass"]) { browser in
///     var signIn = SignIn(issuer: provider.issuer, clientID: "demo", appName: "My App")
///     signIn.browser = browser
///     return try await signIn.run(store: MemoryTokenStore())
/// }
/// ```
/// - Parameters:
///   - entries: The values for a form's fields, by their names.
///   - transport: Loads the pages.
///   - leave: Called with each URL of another scheme, as the desktop would be, and a function that opens further URLs.
///   - body: Called with the browser.
/// - Returns: What the body returned.
/// - Throws: What the body or the browser threw.
public func withScriptedBrowser<Value: Sendable>(
    entries: [String: String], transport: any HTTPTransport = CurlTransport(),
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
            guard let value else { continue }
            visit.finish()
            _ = await group.nextResult()
            return value
        }
        throw CancellationError()
    }
}
