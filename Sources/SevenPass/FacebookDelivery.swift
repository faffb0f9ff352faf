public import AppAuth
internal import JOSE

/// What becomes of Facebook's answers during one sign-in: each is turned into the URL at which 7Pass goes on.
///
/// ```swift
/// var handOver = try FacebookDelivery(facebook)
/// switch handOver.take(url) {   // a URL of the scheme fb<APP_ID>, from the desktop
/// case .open(let url): try await browser.open(listener.oneTimeURL(redirectingTo: url))   // where the sign-in began
/// case .refused(let error): show(error.message)      // the person may try again there
/// case .ignored: break
/// }
/// ```
/// It does not know the state that 7Pass gave Facebook: that 7Pass checks, together with the browser's cookie. So an
/// answer that somebody else sends gets no further than to an error page, and the sign-in waits on.
public struct FacebookDelivery: Sendable {
    /// What to do with a URL.
    public enum Step: Sendable, Hashable {
        /// Open this one in the browser that began the sign-in; it ends at the normal redirect.
        case open(String)
        /// Facebook, or the person there, said no, or the response is not well formed. The sign-in waits on.
        case refused(AuthError)
        /// It is no response of Facebook's to this app, or one that was handed over already.
        case ignored
    }

    private let scheme: String
    private let callback: SecureURL
    private var delivered: Set<Secret> = []

    /// Begins to wait for the responses of one sign-in.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for an app id that is not made of digits, and
    ///   for a callback that is no https URL (or http on loopback).
    public init(_ facebook: SevenPassConfiguration.Facebook) throws {
        guard !facebook.appID.isEmpty, facebook.appID.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw AuthError(
                .invalidConfiguration, .configuration, "expected an app id of digits, found '\(facebook.appID)'",
                outcome: .notSent)
        }
        scheme = "fb" + facebook.appID
        callback = try SecureURL(facebook.externalCallback)
    }

    /// Takes a URL that the desktop handed to the app.
    ///
    /// Code and state stand in the query, if the person was at Facebook's dialog in the browser, or in the fragment, if
    /// Facebook's app answered; nothing else of it goes on to 7Pass.
    public mutating func take(_ url: String) -> Step {
        guard let colon = url.firstIndex(of: ":"), url[..<colon].lowercased() == scheme, url.utf8.count <= 16 << 10
        else { return .ignored }
        guard let (response, way) = Self.response(in: url), response.repeatedName == nil else {
            return .refused(
                Self.refusal("expected each parameter once, in the query or in the fragment, found another URL"))
        }
        if let error = response.values("error").first, !error.isEmpty {
            let server = OAuthError(error: error, errorDescription: response.values("error_description").first)
            return .refused(
                AuthError(
                    .accessDenied, .redirect, "Facebook did not sign the person in: \(server.summary)", server: server))
        }
        guard let code = response.values("code").first, let state = response.values("state").first, !code.isEmpty,
            !state.isEmpty
        else { return .refused(Self.refusal("expected a code and a state, found not both")) }
        // A code is good once: a URL that comes twice would only end in an error page.
        guard delivered.insert(Secret(state)).inserted else { return .ignored }
        var parameters = FormParameters()
        parameters.append("code", code)
        parameters.append("state", state)
        parameters.append("fbapp_type", way)
        return .open(callback.appending(parameters))
    }

    /// Facebook's dialog adds a fragment of its own (`#_=_`) to a response in the query, so that the code decides.
    private static func response(in url: String) -> (parameters: FormParameters, way: String)? {
        let parts = url.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts[0].firstIndex(of: "?").map { parts[0][parts[0].index(after: $0)...] } ?? ""
        guard let query = FormParameters(decoding: query),
            let fragment = FormParameters(decoding: parts.count > 1 ? parts[1] : "")
        else { return nil }
        func isResponse(_ parameters: FormParameters) -> Bool {
            !(parameters.values("code") + parameters.values("error")).isEmpty
        }
        switch (isResponse(query), isResponse(fragment)) {
        case (true, true): return nil
        case (false, true): return (fragment, "native")
        default: return (query, "web")
        }
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidRedirect, .redirect, "the response of Facebook is refused: \(message)")
    }
}
