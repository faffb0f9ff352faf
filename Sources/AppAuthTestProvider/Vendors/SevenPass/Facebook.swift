internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The part of Facebook that a sign-in needs. It knows one app and one user, the first user of 7Pass.
struct Facebook: Sendable {
    /// The way in which a user signs in at Facebook.
    enum Way: String, Sendable {
        /// A dialog in the browser: the response is in the query.
        case web
        /// Facebook's app: the response is in the fragment.
        case native
    }

    private struct Code {
        let way: Way
        let expiresAt: Date
    }

    /// The URL that the Facebook app handles.
    static let appURL = "fbauth2://authorize"

    let appID: String
    /// The access token for the social grant.
    let accessToken: String
    private let codes = LockedValue<[String: Code]>([:])

    init(appID: String, accessToken: String) { (self.appID, self.accessToken) = (appID, accessToken) }

    /// Returns the user whose account at Facebook is linked to one at 7Pass.
    func person(_ context: Context) -> User? { context.people.withLock { $0.first } }

    /// The redirect URI, of a scheme that the client's app handles.
    var redirectURI: String { "fb\(appID)://authorize" }

    /// Returns the query of 7Pass's request to Facebook.
    func query(state: String) -> [(name: String, value: String)] {
        [
            ("client_id", appID), ("redirect_uri", redirectURI), ("response_type", "code"), ("scope", "email"),
            ("state", state),
        ]
    }

    /// Returns the redirect with a code.
    ///
    /// - Throws: ``ProviderError`` if the request is not that of the one app.
    func respond(to query: Parameters, _ way: Way, _ now: Date) throws -> String {
        guard query.repeated == nil, query["client_id"] == appID, query["redirect_uri"] == redirectURI,
            query["response_type"] == "code", let state = query["state"]
        else { throw ProviderError("expected the app \(appID), its redirect_uri, the response_type code and a state") }
        let code = try OpaqueToken.make()
        codes.withLock { $0[code] = Code(way: way, expiresAt: now.adding(600)) }
        let response = FormCoding.encode([("code", code), ("state", state)])
        return redirectURI + (way == .web ? "?" : "#") + response
    }

    /// Uses up a code. Returns whether it was issued for this way and has not expired.
    func spend(_ code: String, _ way: Way, _ now: Date) -> Bool {
        codes.withLock { codes in
            guard let found = codes[code], found.way == way, found.expiresAt > now else { return false }
            codes[code] = nil
            return true
        }
    }
}
