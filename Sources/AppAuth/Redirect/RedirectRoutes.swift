/// What becomes of each request: the listener's rules, without its sockets.
package struct RedirectRoutes: Sendable {
    /// How far the one redirect has come. It only moves forward.
    package enum Phase: Sendable, Hashable {
        /// None has been accepted.
        case open
        /// One was accepted; the browser is held until its outcome is known.
        case accepted
        /// The outcome is known.
        case finished(CompletionPage)
    }

    /// What to do with a request.
    package enum Step: Sendable, Hashable {
        case respond(RedirectResponse)
        /// A GET for the redirect's path: ask whether this query is the awaited one, or keep it until somebody asks.
        case match(query: String)
        /// A POST to the redirect's path: read so many bytes, then ask the same about them.
        case readForm(length: Int)
        /// The browser came for the outcome before there is one.
        case hold
        /// The outcome.
        case page(RedirectResponse)
    }

    package private(set) var phase = Phase.open
    var isFinished: Bool { if case .finished = phase { true } else { false } }
    /// How many requests and connections changed nothing.
    package private(set) var ignoredRequests = 0
    /// One for each host, the preferred one first.
    package let redirectURIs: [String]
    private let authorities: [String]
    /// The redirect's; nil where only one-time URLs are served.
    private let path: String?
    private let donePath: String
    private let formLimit: Int?
    private let pages: CompletionPages
    private let template: PageTemplate
    private var oneTimeTargets: [String: String] = [:]
    private var spentPaths: Set<String> = []

    /// - Parameters:
    ///   - path: The redirect's; nil serves only one-time URLs.
    ///   - hosts: As they stand in redirect URIs, an IPv6 address in its brackets; the preferred one first.
    ///   - secret: A text that nobody can guess, for the path that the browser is sent on to.
    ///   - formLimit: The largest form of a POST in bytes; nil where there is no POST.
    package init(
        hosts: [String], port: UInt16, path: String?, secret: String, formLimit: Int? = nil,
        pages: CompletionPages = CompletionPages()
    ) {
        redirectURIs = path.map { path in hosts.map { "http://\($0):\(port)" + path } } ?? []
        // A browser leaves the default port out of its Host field.
        authorities = hosts.map { "\($0):\(port)" } + (port == 80 ? hosts : [])
        (self.path, self.formLimit, self.pages) = (path, formLimit, pages)
        let folder = path ?? "/"
        donePath = (folder.hasSuffix("/") ? folder : folder + "/") + "done/" + secret
        template = PageTemplate(light: pages.light, dark: pages.dark)
    }

    /// A URL at `/open/` and the secret that is good for one GET.
    package mutating func oneTimeURL(to target: String, secret: String) -> String {
        let path = "/open/" + secret
        oneTimeTargets[path] = target
        return "http://" + (authorities.first ?? "") + path
    }

    /// Whether there is a URL of that kind that no browser has come for.
    package var hasUnusedOneTimeURL: Bool { !oneTimeTargets.isEmpty }

    /// Decides about a request.
    package mutating func route(_ head: RequestHead) -> Step {
        // A page that made its own name point at the loopback address (DNS rebinding) is turned away here.
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
        // What a browser fetches on suspicion must use nothing up; it asks again when the person really goes there.
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

    /// Takes a redirect as the awaited one, and sends its browser on to an address without the code. There is one at
    /// most: from here on every other is an old one.
    package mutating func accept(_ head: RequestHead) -> RedirectResponse {
        phase = .accepted
        return .seeOther("http://" + head.authority + donePath)
    }

    /// Answers a redirect that comes after the accepted one; nil while there is none.
    package mutating func responseIfUsed(_ head: RequestHead) -> RedirectResponse? {
        guard phase != .open else { return nil }
        ignoredRequests += 1
        return template.response(400, pages.usedRedirect, for: head)
    }

    /// Answers a redirect that was not the awaited one; the wait goes on.
    package mutating func ignore(_ head: RequestHead) -> RedirectResponse {
        ignoredRequests += 1
        return template.response(400, pages.foreignRedirect, for: head)
    }

    /// Answers what could not be read as a request.
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

    /// Sets the outcome, once, if a redirect was accepted.
    package mutating func finish(with page: CompletionPage) {
        if phase == .accepted { phase = .finished(page) }
    }
}
