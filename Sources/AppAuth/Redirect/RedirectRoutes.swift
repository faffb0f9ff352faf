internal import AppAuthProtocol

/// The address that a one-time URL redirects to, found when the URL is opened. It must not block.
package typealias OneTimeTarget = @Sendable () throws(AuthError) -> String

/// The HTTP of the loopback listener, independent of its sockets: reads a request, finds its route, and makes its
/// response.
package struct RedirectRoutes: ConnectionRules {
    /// A request, from its first byte on.
    package struct Request: Sendable {
        fileprivate let isForeign: Bool
        fileprivate var headReader: RequestHeadReader
        package fileprivate(set) var head: RequestHead?
        /// Reads the form that follows the head of a POST to the redirect path.
        fileprivate var formReader: FormReader?
        fileprivate var form: String?
    }

    /// If the browser has gone, the user has reloaded or given up.
    package static let keepsAbandonedRedirects = false

    /// The redirect URI of each host, the preferred one first.
    package let redirectURIs: [String]
    private let scheme: String
    private let authorities: [String]
    /// The redirect path, or nil if only one-time URLs are served.
    private let path: String?
    private let donePath: String
    private let headLimit: Int
    private let formLimit: Int?
    private let pages: CompletionPages
    private let template: PageTemplate
    private var oneTimeTargets: [String: OneTimeTarget] = [:]
    /// The one-time paths that a program of another user has opened. The user learns of it.
    private var spentPaths: Set<String> = []
    /// The one-time paths that were opened, and those that a page of a browser shows.
    private var openedPaths: Set<String> = []
    private var shownPaths: Set<String> = []

    /// Creates the routes.
    ///
    /// - Parameters:
    ///   - hosts: The hosts as redirect URIs name them, with an IPv6 address in brackets; the preferred one first.
    ///   - isSecure: Whether the connections are encrypted.
    ///   - path: The redirect path, or nil to serve only one-time URLs.
    ///   - secret: A random text for the path that the browser is redirected to.
    ///   - headLimit: The largest request head in bytes.
    ///   - formLimit: The largest form of a POST in bytes, or nil if POST is not allowed.
    package init(
        hosts: [String], port: UInt16, isSecure: Bool = false, path: String?, secret: String, headLimit: Int,
        formLimit: Int? = nil, pages: CompletionPages = CompletionPages()
    ) {
        let scheme = isSecure ? "https" : "http"
        self.scheme = scheme
        redirectURIs = path.map { path in hosts.map { "\(scheme)://\($0):\(port)" + path } } ?? []
        // A browser omits the default port in its Host field.
        authorities = hosts.map { "\($0):\(port)" } + (port == (isSecure ? 443 : 80) ? hosts : [])
        (self.path, self.headLimit, self.formLimit, self.pages) = (path, headLimit, formLimit, pages)
        let folder = path ?? "/"
        donePath = (folder.hasSuffix("/") ? folder : folder + "/") + "done/" + secret
        template = PageTemplate(light: pages.light, dark: pages.dark)
    }

    /// Returns a URL with the path `/open/` and the secret, valid until a redirect is accepted.
    ///
    /// A request is not a user: some openers, such as KDE's KIO, ask for the type of the page before they start a browser.
    package mutating func oneTimeURL(secret: String, to target: @escaping OneTimeTarget) -> String {
        let path = "/open/" + secret
        oneTimeTargets[path] = target
        return "\(scheme)://" + (authorities.first ?? "") + path
    }

    /// Whether a one-time URL has not been opened yet.
    package var hasUnusedOneTimeURL: Bool { !openedPaths.isSuperset(of: oneTimeTargets.keys) }

    /// Whether a browser has said that it shows each one-time URL to its user (Fetch Metadata).
    package var areOneTimeURLsShown: Bool { shownPaths.isSuperset(of: oneTimeTargets.keys) }

    // MARK: a request

    package func newRequest(isForeign: Bool = false) -> Request {
        Request(isForeign: isForeign, headReader: RequestHeadReader(limit: headLimit))
    }

    package mutating func read(
        _ bytes: ArraySlice<UInt8>, of request: inout Request, in phase: RedirectPhase
    ) -> ConnectionStep {
        guard !bytes.isEmpty else { return .close }
        if scheme == "http", request.headReader.isEmpty, bytes.first == Self.firstByteOfTLS {
            return .ignore(RedirectResponse.plain(400).bytes, .httpsRequested)
        }
        var bytes = bytes
        do throws(RequestHead.Refusal) {
            if request.head == nil {
                guard let head = try request.headReader.read(&bytes) else { return .readMore }
                request.head = head
                if let formLimit, head.method == "POST", head.path == path, authorities.contains(head.authority) {
                    request.formReader = FormReader(length: try head.formLength(limit: formLimit))
                }
            }
            if request.formReader != nil {
                guard let form = try request.formReader?.read(bytes) else { return .readMore }
                request.form = form
            }
        } catch { return ignore(.plain(error.rawValue)) }
        return step(for: request, in: phase)
    }

    package mutating func step(for request: Request, in phase: RedirectPhase) -> ConnectionStep {
        guard let head = request.head else { return .readMore }
        if let form = request.form { return redirect(form, head, phase) }
        // Rejects a web page whose own name resolves to the loopback address (DNS rebinding).
        guard authorities.contains(head.authority) else {
            return .ignore(RedirectResponse.plain(421).bytes, obstacle(of: head))
        }
        if let target = oneTimeTargets[head.path], phase == .open, !spentPaths.contains(head.path) {
            return open(target, head, isForeign: request.isForeign)
        }
        if let response = preflightResponse(to: head) { return .respond(response.bytes) }
        guard head.method == "GET" else {
            let allowed = formLimit != nil && head.path == path ? "GET, POST" : "GET"
            return ignore(.methodNotAllowed(head.method, allowed: allowed))
        }
        // A prefetch must not use up anything. The browser repeats the request when the user opens the page.
        guard !head.isPrefetch else { return ignore(.plain(503)) }

        if head.path == path { return redirect(head.query, head, phase) }
        if head.path == donePath {
            switch phase {
            case .open: return ignore(.plain(404))
            case .accepted: return .wait
            case .finished(let page): return .page(template.response(200, page, for: head).bytes)
            }
        }
        if oneTimeTargets[head.path] != nil { return ignore(template.response(410, pages.usedLink, for: head)) }
        return .ignore(RedirectResponse.plain(404).bytes, obstacle(of: head))
    }

    /// The type of a TLS record with a handshake (RFC 8446 §5.1).
    private static let firstByteOfTLS: UInt8 = 22

    /// The obstacle that a request to the right path under another address shows, or to a path that differs by a slash at
    /// its end. Only names of loopback count: any web page can send others.
    private func obstacle(of head: RequestHead) -> BrowserObstacle? {
        let isExact = head.path == path || oneTimeTargets[head.path] != nil
        let isWithinASlash = path.map { head.path == $0 + "/" || head.path + "/" == $0 } ?? false
        guard let expected = authorities.first, isExact || isWithinASlash else { return nil }
        let parts = head.authority.split(separator: ":", omittingEmptySubsequences: false)
        let isLoopback =
            ["localhost", "127.0.0.1", "[::1]"].contains(parts.dropLast().joined(separator: ":"))
            && parts.last.flatMap { UInt16($0) } != nil
        guard isLoopback else { return nil }
        let (found, wanted) = isExact ? ("", "") : (head.path, path ?? "")
        return .otherAddress(head.authority + found, insteadOf: expected + wanted)
    }

    /// Some providers' pages deliver the code with `fetch()`. The browser asks first (Fetch Standard, CORS protocol). The
    /// permission gives nothing away: any page can send the request itself, and it is the state that decides.
    private func preflightResponse(to head: RequestHead) -> RedirectResponse? {
        guard head.method == "OPTIONS", head.path == path, let fields = corsFields(for: head),
            let method = head["access-control-request-method"], method == "GET" || method == "POST" && formLimit != nil
        else { return nil }
        return RedirectResponse(
            status: 200,
            fields: fields + [
                .init(name: "Access-Control-Allow-Methods", value: method),
                .init(name: "Access-Control-Allow-Headers", value: "*"),
                .init(name: "Access-Control-Allow-Private-Network", value: "true"),
            ])
    }

    /// The fields that let the script of a page see the status; nil unless the page says that it has an https origin.
    private func corsFields(for head: RequestHead) -> [RequestHead.Field]? {
        guard let origin = head["origin"], origin.hasPrefix("https://"),
            origin.dropFirst(8).allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".-:[]".contains($0)) })
        else { return nil }
        return [.init(name: "Access-Control-Allow-Origin", value: origin), .init(name: "Vary", value: "Origin")]
    }

    private mutating func open(_ target: OneTimeTarget, _ head: RequestHead, isForeign: Bool) -> ConnectionStep {
        // An opener that asks for the type must not follow: a pushed request may be valid once (RFC 9126 §7.3).
        if head.method == "HEAD", !head.isPrefetch {
            return .respond(
                RedirectResponse(status: 200, fields: [.init(name: "Content-Type", value: "text/html")]).bytes)
        }
        guard head.method == "GET" else { return ignore(.methodNotAllowed(head.method, allowed: "GET, HEAD")) }
        guard !head.isPrefetch else { return ignore(.plain(503)) }
        if isForeign { spentPaths.insert(head.path) }
        openedPaths.insert(head.path)
        if head["sec-fetch-mode"] == "navigate" { shownPaths.insert(head.path) }
        do { return .respond(RedirectResponse.seeOther(try target()).bytes) } catch {
            return .fail(RedirectResponse(status: 403, body: "\(error.message)\n").bytes, error)
        }
    }

    /// Only one redirect is accepted; every later one counts as used.
    private func redirect(_ parameters: String, _ head: RequestHead, _ phase: RedirectPhase) -> ConnectionStep {
        phase == .open ? .match(parameters) : ignore(template.response(400, pages.usedRedirect, for: head))
    }

    private func ignore(_ response: RedirectResponse) -> ConnectionStep { .ignore(response.bytes) }

    /// An accepted redirect is redirected to an address without the code, where its browser waits for the outcome.
    package func response(to request: Request, isAccepted: Bool) -> [UInt8] {
        guard let head = request.head else { return [] }
        if head["sec-fetch-mode"] == "cors", let fields = corsFields(for: head) {
            return RedirectResponse(status: isAccepted ? 200 : 400, fields: fields).bytes
        }
        if isAccepted { return RedirectResponse.seeOther("\(scheme)://" + head.authority + donePath).bytes }
        return template.response(400, pages.foreignRedirect, for: head).bytes
    }

    /// RFC 9110 §15.5.9. An empty connection was opened in advance by the browser and is closed without a response.
    package func response(toLate request: Request) -> [UInt8]? {
        request.headReader.isEmpty ? nil : RedirectResponse.plain(408).bytes
    }
}
