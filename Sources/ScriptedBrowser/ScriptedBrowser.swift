public import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

/// A browser for systems without a display. It follows redirects, keeps cookies, and fills in and submits forms.
///
/// ```swift
/// let browser = ScriptedBrowser(transport: CurlTransport(), entries: ["username": "alice", "user_code": code.userCode])
/// try await browser.visit(code.verificationURI.string)
/// ```
/// For a sign-in in one call there is ``withScriptedBrowser(entries:transport:leave:_:)``.
public actor ScriptedBrowser {
    private let transport: any HTTPTransport
    private let entries: [String: String]
    private let leave: @Sendable (String) async throws -> Void
    private var cookies = CookieJar()

    private static let longestJourney = 30

    /// Creates a browser without cookies.
    ///
    /// - Parameters:
    ///   - transport: Loads the pages.
    ///   - entries: The values for a form's fields, by their names.
    ///   - leave: Called if a redirect leads to a scheme other than HTTP's. The journey ends there.
    public init(
        transport: any HTTPTransport, entries: [String: String],
        leave: @escaping @Sendable (String) async throws -> Void = { _ in
            throw AuthError(.browser, .browser, "the scripted browser supports only http and https")
        }
    ) {
        (self.transport, self.entries, self.leave) = (transport, entries, leave)
    }

    /// Opens a URL and continues from there until a page without a form.
    ///
    /// - Returns: The HTML of the last page; empty if a redirect left HTTP.
    /// - Throws: ``AuthError`` if a page does not accept an entry, and if the last page has an error status, for example
    ///   because the provider does not know the client: with the text of the page, and the status in
    ///   ``AuthError/httpStatus``.
    @discardableResult
    public func visit(_ url: String) async throws -> String { try await travel(url) { _ in false } }

    /// Opens a URL and continues until a redirect to an address with this prefix, which it does not open: as on another
    /// machine, where that address cannot be reached.
    ///
    /// - Returns: The whole address.
    package func address(from url: String, upTo beginning: String) async throws -> String {
        try await travel(url) { $0.hasPrefix(beginning) }
    }

    /// - Parameter isEnd: Returns whether a redirect to an address ends the journey.
    /// - Returns: That address, or otherwise the text of the last page.
    private func travel(_ url: String, until isEnd: (_ address: String) -> Bool) async throws -> String {
        var next = Step(url: try SecureURL(url), form: nil)
        var last: Entry?
        for _ in 0..<Self.longestJourney {
            let response = try await load(next)
            let status = response.status.code
            if (300..<400).contains(status), let location = response.headerFields[.location] {
                if isEnd(location) { return location }
                if location.leavesHTTP {
                    try await leave(location)
                    return ""
                }
                next = Step(url: try next.url.resolving(location), form: nil)
                continue
            }
            let page = String(decoding: response.body, as: UTF8.self)
            guard let form = HTMLForm(in: page) else {
                guard status < 400 else { throw Self.failure(status, page, at: next.url) }
                return page
            }
            (next, last) = try submit(form, on: next.url, after: last)
        }
        throw AuthError(.browser, .browser, "the scripted browser was redirected too often")
    }

    /// The error of a page, without the query of its URL, which may have a `state`.
    private static func failure(_ status: Int, _ page: String, at url: SecureURL) -> AuthError {
        let text = HTMLText.text(of: page)
        var error = AuthError(
            .browser, .browser,
            "the page at \(url.origin)\(url.path) has the status \(status)"
                + (text.isEmpty ? "" : ": \(text.foundSentence)"))
        error.httpStatus = status
        return error
    }

    private struct Step {
        let url: SecureURL
        let form: FormParameters?
    }

    /// What was typed into the last form.
    private struct Entry: Equatable {
        let page: String
        let values: [String: String]
    }

    private func load(_ step: Step) async throws -> TransportResponse {
        var request = HTTPRequest(method: step.form == nil ? .get : .post, url: step.url)
        request.headerFields[.accept] = "text/html"
        request.headerFields[.cookie] = cookies.field(for: step.url)
        if step.form != nil {
            request.headerFields[.contentType] = "application/x-www-form-urlencoded"
            request.headerFields[.origin] = "\(step.url.scheme)://\(step.url.authority)"
        }
        let response = try await transport.send(
            TransportRequest(request, body: step.form.map { Array($0.encoded.utf8) }))
        cookies.store(response.headerFields[values: .setCookie], from: step.url)
        return response
    }

    /// - Throws: An error if the form is the last one, since it has not accepted the same entry before.
    private func submit(_ form: HTMLForm, on url: SecureURL, after last: Entry?) throws -> (Step, Entry) {
        var parameters = FormParameters()
        for field in form.fields { parameters.append(field.name, entries[field.name] ?? field.value) }
        let target = try form.action.isEmpty ? url : url.resolving(form.action)
        let typed = form.typed.map { ($0, parameters.values($0).first ?? "") }
        let entry = Entry(page: target.origin + target.path, values: Dictionary(typed) { first, _ in first })
        if let name = form.password ?? form.typed.first, entry == last {
            let field = form.password == nil ? "'\(name)'" : "the password"
            throw AuthError(.browser, .browser, "the page at \(target.origin) did not accept \(field)")
        }
        guard form.isGet else { return (Step(url: target, form: parameters), entry) }
        return (Step(url: try SecureURL(target.appending(parameters)), form: nil), entry)
    }
}

extension SecureURL {
    /// Resolves a reference on a page at this URL: an absolute URL, or a path on the same server.
    fileprivate func resolving(_ reference: String) throws -> SecureURL {
        if reference.contains("://") { return try SecureURL(reference) }
        let server = "\(scheme)://\(authority)"
        if reference.hasPrefix("/") { return try SecureURL(server + reference) }
        if reference.hasPrefix("?") { return try SecureURL(server + path + reference) }
        return try SecureURL(server + path[...(path.lastIndex(of: "/") ?? path.startIndex)] + reference)
    }
}

extension String {
    /// Whether a reference begins with a scheme (RFC 3986 §3.1) other than HTTP's.
    fileprivate var leavesHTTP: Bool {
        let scheme = prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        return !scheme.isEmpty && dropFirst(scheme.count).first == ":" && !["http", "https"].contains(scheme)
    }
}

/// Cookies by the server that set them.
private struct CookieJar {
    private var cookies: [String: [String: String]] = [:]

    func field(for url: SecureURL) -> String? {
        guard let cookies = cookies[url.origin], !cookies.isEmpty else { return nil }
        return cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")
    }

    mutating func store(_ fields: [String], from url: SecureURL) {
        for field in fields {
            let parts = field.split(separator: ";").map { $0.drop { $0 == " " } }
            let pair = (parts.first ?? "").split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard pair.count == 2 else { continue }
            let isDeleted = parts.dropFirst().contains { $0.lowercased() == "max-age=0" }
            cookies[url.origin, default: [:]][String(pair[0])] = isDeleted ? nil : String(pair[1])
        }
    }
}
