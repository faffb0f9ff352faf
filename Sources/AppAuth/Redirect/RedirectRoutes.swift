/// The routing rules of the listener, independent of its sockets.
package struct RedirectRoutes: Sendable {
    /// The progress of the redirect. It only moves forward.
    package enum Phase: Sendable, Hashable {
        /// No redirect has been accepted.
        case open
        /// A redirect was accepted. The browser is held until the outcome is known.
        case accepted
        /// The outcome is known.
        case finished(CompletionPage)
    }

    /// The action for a request.
    package enum Step: Sendable, Hashable {
        case respond(RedirectResponse)
        /// A GET to the redirect path: match its query, or keep it until a caller waits.
        case match(query: String)
        /// A POST to the redirect path: read `length` bytes, then match them.
        case readForm(length: Int)
        /// The browser requested the outcome before it is known.
        case hold
        /// The page with the outcome.
        case page(RedirectResponse)
    }

    package private(set) var phase = Phase.open
    var isFinished: Bool { if case .finished = phase { true } else { false } }
    /// The number of requests and connections that had no effect.
    package private(set) var ignoredRequests = 0
    /// The redirect URI of each host, the preferred one first.
    package let redirectURIs: [String]
    private let authorities: [String]
    /// The redirect path, or nil if only one-time URLs are served.
    private let path: String?
    private let donePath: String
    private let formLimit: Int?
    private let pages: CompletionPages
    private let template: PageTemplate
    private var oneTimeTargets: [String: String] = [:]
    private var spentPaths: Set<String> = []

    /// Creates the rules.
    ///
    /// - Parameters:
    ///   - path: The redirect path, or nil to serve only one-time URLs.
    ///   - hosts: The hosts as redirect URIs name them, with an IPv6 address in brackets; the preferred one first.
    ///   - secret: A random text for the path that the browser is redirected to.
    ///   - formLimit: The largest form of a POST in bytes, or nil if POST is not allowed.
    package init(
        hosts: [String], port: UInt16, path: String?, secret: String, formLimit: Int? = nil,
        pages: CompletionPages = CompletionPages()
    ) {
        redirectURIs = path.map { path in hosts.map { "http://\($0):\(port)" + path } } ?? []
        // A browser omits the default port in its Host field.
        authorities = hosts.map { "\($0):\(port)" } + (port == 80 ? hosts : [])
        (self.path, self.formLimit, self.pages) = (path, formLimit, pages)
        let folder = path ?? "/"
        donePath = (folder.hasSuffix("/") ? folder : folder + "/") + "done/" + secret
        template = PageTemplate(light: pages.light, dark: pages.dark)
    }

    /// Returns a URL with the path `/open/` and the secret, valid for one GET.
    package mutating func oneTimeURL(to target: String, secret: String) -> String {
        let path = "/open/" + secret
        oneTimeTargets[path] = target
        return "http://" + (authorities.first ?? "") + path
    }

    /// Whether a one-time URL has not been opened yet.
    package var hasUnusedOneTimeURL: Bool { !oneTimeTargets.isEmpty }

    /// Returns the action for a request.
    package mutating func route(_ head: RequestHead) -> Step {
        // Rejects a web page whose own name resolves to the loopback address (DNS rebinding).
        guard authorities.contains(head.authority) else { return ignore(.plain(421)) }
        if head.method == "POST", let formLimit, head.path == path {
            do { return .readForm(length: try head.formLength(limit: formLimit)) } catch {
                return .respond(refuse(error))
            }
        }
        guard head.method == "GET" else {
            let allowed = formLimit != nil && head.path == path ? "GET, POST" : "GET"
            return ignore(.methodNotAllowed(head.method, allowed: allowed))
        }
        // A prefetch must not use up anything. The browser repeats the request when the user opens the page.
        guard !head.isPrefetch else { return ignore(.plain(503)) }

        if head.path == path { return .match(query: head.query) }
        if head.path == donePath { return done(head) }
        if let target = oneTimeTargets.removeValue(forKey: head.path) {
            spentPaths.insert(head.path)
            return .respond(.seeOther(target))
        }
        if spentPaths.contains(head.path) { return ignore(template.response(410, pages.usedLink, for: head)) }
        return ignore(.plain(404))
    }

    private mutating func done(_ head: RequestHead) -> Step {
        switch phase {
        case .open: ignore(.plain(404))
        case .accepted: .hold
        case .finished(let page): .page(template.response(200, page, for: head))
        }
    }

    /// Accepts a redirect as the awaited one and redirects its browser to an address without the code. Only one
    /// redirect is accepted; every later one counts as used.
    package mutating func accept(_ head: RequestHead) -> RedirectResponse {
        phase = .accepted
        return .seeOther("http://" + head.authority + donePath)
    }

    /// Returns the response to a redirect that follows the accepted one, or nil if none has been accepted.
    package mutating func responseIfUsed(_ head: RequestHead) -> RedirectResponse? {
        guard phase != .open else { return nil }
        ignoredRequests += 1
        return template.response(400, pages.usedRedirect, for: head)
    }

    /// Returns the response to a redirect that is not the awaited one. The wait goes on.
    package mutating func ignore(_ head: RequestHead) -> RedirectResponse {
        ignoredRequests += 1
        return template.response(400, pages.foreignRedirect, for: head)
    }

    /// Returns the response to input that is not a valid request.
    package mutating func refuse(_ refusal: RequestHead.Refusal) -> RedirectResponse {
        ignoredRequests += 1
        return .plain(refusal.rawValue)
    }

    /// Counts a connection that was closed unread.
    mutating func turnAway() { ignoredRequests += 1 }

    private mutating func ignore(_ response: RedirectResponse) -> Step {
        ignoredRequests += 1
        return .respond(response)
    }

    /// Sets the outcome if a redirect was accepted and no outcome is set.
    package mutating func finish(with page: CompletionPage) {
        if phase == .accepted { phase = .finished(page) }
    }
}
