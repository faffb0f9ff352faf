import Foundation

/// A tab of a real browser, and a user's actions in it.
struct Tab: Sendable {
    let session: BiDiSession
    let id: String

    /// The visible page.
    struct Page: Decodable, Sendable {
        let url: String
        let language: String
        let title: String
        let heading: String
        let text: String
    }

    func open(_ url: String) async throws {
        try await session.command("browsingContext.navigate", ["context": id, "url": url, "wait": "complete"])
    }

    func reload() async throws {
        try await session.command("browsingContext.reload", ["context": id, "wait": "complete"])
    }

    func goBack() async throws {
        try await session.command("browsingContext.traverseHistory", ["context": id, "delta": -1])
    }

    func close() async throws { try await session.command("browsingContext.close", ["context": id]) }

    func page() async throws -> Page {
        try await evaluate(
            """
            {url: location.href, language: document.documentElement.lang, title: document.title,
             heading: document.querySelector("h1")?.innerText ?? "", text: document.body.innerText}
            """)
    }

    /// Waits for a page with one of these headings.
    @discardableResult
    func shows(_ headings: String...) async throws -> Page {
        try await waits(for: headings.joined(separator: " or ")) { headings.contains($0.heading) }
    }

    /// Waits for a page that says this somewhere.
    @discardableResult
    func says(_ text: String) async throws -> Page { try await waits(for: text) { $0.text.contains(text) } }

    private func waits(for expected: String, _ matches: (Page) -> Bool) async throws -> Page {
        let deadline = ContinuousClock.now + BiDiSession.patience
        while true {
            let before = await session.events.count
            let page = try? await self.page()
            if let page, matches(page) { return page }
            guard ContinuousClock.now < deadline else {
                throw SetupFailure("Expected “\(expected)”, found \(page.map { "\($0)" } ?? "no page")")
            }
            // A page that is being left cannot be asked. The next one reports its load; one that the browser has
            // kept and shows again does not, nor one that changes itself.
            _ = try? await session.event(after: before, within: .milliseconds(500)) { [id] event in
                event.tab == id && event.method == "browsingContext.load"
            }
        }
    }

    // MARK: Keys and pointer

    func type(_ text: String, into field: String) async throws {
        try await click(field)
        let keys = text.flatMap {
            [["type": "keyDown", "value": String($0)], ["type": "keyUp", "value": String($0)]]
        }
        try await perform([["type": "key", "id": "keyboard", "actions": keys]])
    }

    /// Presses the mouse in the middle of the selected element, as a user would.
    func click(_ selector: String) async throws { try await click(found: "document.querySelector('\(selector)')") }

    /// Presses the button with this label.
    func press(_ label: String) async throws {
        let found = "[...document.querySelectorAll('button')].find(button => button.innerText.trim() == '\(label)')"
        try await click(found: found)
    }

    private func click(found: String) async throws {
        struct Place: Decodable { let x: Int, y: Int }
        let location = try await evaluate(
            """
            (element => {
                if (!element) return null
                element.scrollIntoView({block: "nearest", behavior: "instant"})
                const box = element.getBoundingClientRect()
                return {x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2)}
            })(\(found))
            """, as: Place?.self)
        guard let location else { throw SetupFailure("\(found): nothing of the kind is on the page.") }
        let actions: [[String: any Sendable]] = [
            ["type": "pointerMove", "x": location.x, "y": location.y], ["type": "pointerDown", "button": 0],
            ["type": "pointerUp", "button": 0],
        ]
        try await perform([["type": "pointer", "id": "mouse", "actions": actions]])
    }

    private func perform(_ actions: [[String: any Sendable]]) async throws {
        try await session.command("input.performActions", ["context": id, "actions": actions])
    }

    // MARK: Appearance

    /// The value of an expression, which the browser's own tools may ask for where pages may run no scripts.
    func evaluate<Value: Decodable>(_ expression: String, as: Value.Type = Value.self) async throws -> Value {
        let response = try await session.command(
            "script.evaluate",
            ["expression": "JSON.stringify(\(expression))", "target": ["context": id], "awaitPromise": false],
            as: Evaluated.self)
        return try JSONDecoder().decode(Value.self, from: Data(response.result.value.utf8))
    }

    private struct Evaluated: Decodable {
        struct Result: Decodable { let value: String }
        let result: Result
    }

    /// Makes the page's area so large, in CSS pixels, on a screen that has two pixels for each.
    func resize(width: Int, height: Int) async throws {
        let viewport = ["width": width, "height": height]
        try await session.command(
            "browsingContext.setViewport", ["context": id, "viewport": viewport, "devicePixelRatio": 2])
    }

    /// The page as a PNG.
    func picture() async throws -> Data {
        struct Screenshot: Decodable { let data: Data }
        return try await session.command("browsingContext.captureScreenshot", ["context": id], as: Screenshot.self).data
    }

    // MARK: The network

    /// The first request for such a URL that this tab makes after so many events.
    func request(after count: Int = 0, where matches: @escaping @Sendable (String) -> Bool) async throws -> String {
        let event = try await session.event(after: count) { [id] event in
            event.tab == id && event.method == "network.beforeRequestSent" && matches(event.params.request?.url ?? "")
        }
        return event.params.request?.url ?? ""
    }

    /// Where the one-time URL has sent this tab.
    var authorizationURL: String { get async throws { try await request { $0.contains("redirect_uri=") } } }

    /// Has the browser stop before it requests this path, in this tab. The returned value continues it.
    func stop(before path: String, of url: String, _ body: () async throws -> Void) async throws -> Stopped {
        let port = URLComponents(string: url)?.port ?? 80
        let pattern = ["type": "pattern", "hostname": "127.0.0.1", "port": "\(port)", "pathname": path]
        try await session.command(
            "network.addIntercept",
            ["phases": ["beforeRequestSent"], "urlPatterns": [pattern], "contexts": [id]])
        try await body()
        let event = try await session.event(after: 0) { [id] in $0.tab == id && $0.params.isBlocked == true }
        return Stopped(session: session, request: event.params.request?.request ?? "")
    }

    /// A request that the browser has not made yet.
    struct Stopped {
        fileprivate let session: BiDiSession
        fileprivate let request: String

        func goOn() async throws { try await session.command("network.continueRequest", ["request": request]) }
    }
}
