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
        case answer(RedirectAnswer)
        /// A GET for the redirect's path: ask whether this query is the awaited one, or keep it until somebody asks.
        case judge(query: String)
        /// The browser came for the outcome before there is one.
        case hold
        /// The outcome.
        case page(RedirectAnswer)
    }

    package private(set) var phase = Phase.open
    var isFinished: Bool { if case .finished = phase { true } else { false } }
    /// How many redirects came that were not the awaited one.
    package private(set) var ignored = 0
    package let redirectURI: String
    private let origin: String
    private let authorities: [String]
    private let path: String
    private let donePath: String
    private var oneTimeTargets: [String: String] = [:]
    private var spentPaths: Set<String> = []

    /// - Parameters:
    ///   - host: As it stands in the redirect URI, an IPv6 address in its brackets.
    ///   - secret: A text that nobody can guess, for the path that the browser is sent on to.
    package init(host: String, port: UInt16, path: String, secret: String) {
        origin = "http://\(host):\(port)"
        // A browser leaves the default port out of its Host field.
        authorities = port == 80 ? ["\(host):80", host] : ["\(host):\(port)"]
        (self.path, redirectURI) = (path, origin + path)
        donePath = (path.hasSuffix("/") ? path : path + "/") + "done/" + secret
    }

    /// Where the browser that brought the redirect is sent on to: an address without the code.
    package var doneURL: String { origin + donePath }

    /// A URL at `/open/` and the secret that is good for one GET.
    package mutating func oneTimeURL(to target: String, secret: String) -> String {
        let path = "/open/" + secret
        oneTimeTargets[path] = target
        return origin + path
    }

    /// Decides about a request.
    package mutating func route(_ head: RequestHead) -> Step {
        // A page that made its own name point at the loopback address (DNS rebinding) is turned away here.
        guard authorities.contains(head.authority) else { return .answer(.plain(421)) }
        guard head.method == "GET" else { return .answer(.methodNotAllowed(head.method)) }
        // What a browser fetches on suspicion must use nothing up; it asks again when the person really goes there.
        guard !head.isPrefetch else { return .answer(.plain(503)) }

        if head.path == path { return redirect(head) }
        if head.path == donePath { return done(head) }
        if let target = oneTimeTargets.removeValue(forKey: head.path) {
            spentPaths.insert(head.path)
            return .answer(.seeOther(target))
        }
        if spentPaths.contains(head.path) { return .answer(.page(410, CompletionPage.usedLink.html(for: head))) }
        return .answer(.plain(404))
    }

    private mutating func redirect(_ head: RequestHead) -> Step {
        guard phase == .open else {
            ignored += 1
            return .answer(.page(400, CompletionPage.usedRedirect.html(for: head)))
        }
        return .judge(query: head.query)
    }

    private func done(_ head: RequestHead) -> Step {
        switch phase {
        case .open: .answer(.plain(404))
        case .accepted: .hold
        case .finished(let page): .page(.page(200, page.html(for: head)))
        }
    }

    /// Takes a redirect as the awaited one. There is one at most: from here on every other is an old one.
    package mutating func accept() -> RedirectAnswer {
        phase = .accepted
        return .seeOther(doneURL)
    }

    /// Answers a redirect that was not the awaited one; the wait goes on.
    package mutating func ignore(_ head: RequestHead) -> RedirectAnswer {
        ignored += 1
        return .page(400, CompletionPage.foreignRedirect.html(for: head))
    }

    /// Sets the outcome, once, if a redirect was accepted.
    package mutating func finish(with page: CompletionPage) {
        if phase == .accepted { phase = .finished(page) }
    }
}
