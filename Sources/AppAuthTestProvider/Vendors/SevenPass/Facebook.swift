internal import FoundationEssentials
internal import JOSE

/// As much of Facebook as a sign-in needs: it knows one app and one person, the first user of 7Pass.
struct Facebook: Sendable {
    /// How a person goes through it.
    enum Way: String, Sendable {
        /// A dialog in the browser: the response stands in the query.
        case web
        /// Its app: the response stands in the fragment.
        case native
    }

    private struct Code {
        let way: Way
        let expiresAt: Date
    }

    /// Handled by the Facebook app.
    static let appURL = "fbauth2://authorize"

    let appID: String
    /// Good at the social grant.
    let accessToken: String
    private let codes = LockedValue<[String: Code]>([:])

    init(appID: String, accessToken: String) { (self.appID, self.accessToken) = (appID, accessToken) }

    /// Whose account at Facebook is joined to one at 7Pass.
    func person(_ context: Context) -> User? { context.people.withLock { $0.first } }

    /// Of a scheme that the client's app handles.
    var redirectURI: String { "fb\(appID)://authorize" }

    /// What 7Pass asks Facebook.
    func query(state: String) -> [(name: String, value: String)] {
        [
            ("client_id", appID), ("redirect_uri", redirectURI), ("response_type", "code"), ("scope", "email"),
            ("state", state),
        ]
    }

    /// Sends the person back with a code.
    ///
    /// - Throws: ``ProviderError`` if the question is not that of the one app.
    func respond(to query: Parameters, _ way: Way, _ now: Date) throws -> String {
        guard query.repeated == nil, query["client_id"] == appID, query["redirect_uri"] == redirectURI,
            query["response_type"] == "code", let state = query["state"]
        else { throw ProviderError("expected the app \(appID), its redirect_uri, the response_type code and a state") }
        let code = try OpaqueToken.make()
        codes.withLock { $0[code] = Code(way: way, expiresAt: now.adding(600)) }
        let response = FormCoding.encode([("code", code), ("state", state)])
        return redirectURI + (way == .web ? "?" : "#") + response
    }

    /// Whether the code was given out on this way and is still good; it is not afterwards.
    func spend(_ code: String, _ way: Way, _ now: Date) -> Bool {
        codes.withLock { codes in
            guard let found = codes[code], found.way == way, found.expiresAt > now else { return false }
            codes[code] = nil
            return true
        }
    }
}
