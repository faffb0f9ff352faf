public import AppAuth
internal import JOSE

/// The handling of Facebook's responses during one sign-in. It turns each response into the URL at which 7Pass
/// continues.
///
/// ```swift
/// var delivery = try FacebookDelivery(facebook)
/// switch delivery.take(url) {   // a URL of the scheme fb<APP_ID>, from the desktop
/// case .open(let url): try await browser.open(listener.oneTimeURL(redirectingTo: url))   // where the sign-in began
/// case .refused(let error): show(error.message)      // the user may try again there
/// case .ignored(let reason): log(reason)
/// }
/// ```
/// It does not know the state that 7Pass gave to Facebook. 7Pass checks that state, together with the browser's cookie.
/// A forged response therefore leads only to an error page, and the sign-in keeps waiting.
public struct FacebookDelivery: Sendable {
    /// The next step for a URL.
    public enum Step: Sendable, Hashable {
        /// Open this URL in the browser that began the sign-in. The sign-in ends at the normal redirect.
        case open(String)
        /// Facebook or the user refused, or the response is malformed. The sign-in keeps waiting.
        case refused(AuthError)
        /// The URL is no response of Facebook's to this app, or it was delivered before. The reason, in one line,
        /// contains no code and no state.
        case ignored(reason: String)
    }

    private let scheme: String
    private let callback: SecureURL
    private var delivered: Set<Secret> = []

    /// Creates the handler for one sign-in.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the app id is not made of digits, or the
    ///   callback is not an https URL (or http on loopback).
    public init(_ facebook: SevenPassConfiguration.Facebook) throws {
        guard !facebook.appID.isEmpty, facebook.appID.utf8.allSatisfy(\.isASCIIDigit) else {
            throw AuthError(
                .invalidConfiguration, .configuration, "expected an app id of digits, found \(facebook.appID.foundText)"
            )
        }
        scheme = "fb" + facebook.appID
        callback = try SecureURL(facebook.externalCallback)
    }

    /// Accepts a URL that the desktop delivered to the app.
    ///
    /// The scheme is `fb<APP_ID>`, perhaps with Facebook's "URL scheme suffix", which tells apps with the same id apart.
    /// Code and state are in the query if the user signed in at Facebook's dialog in the browser, or in the fragment if
    /// Facebook's app responded. 7Pass receives only code and state, and which of the two ways it was.
    public mutating func take(_ url: String) -> Step {
        let found = url.firstIndex(of: ":").map { url[..<$0].lowercased() }
        // With another digit, it is the id of another app.
        guard let found, found.hasPrefix(scheme), found.utf8.dropFirst(scheme.utf8.count).first?.isASCIIDigit != true
        else {
            return .ignored(
                reason: "expected the scheme \(scheme), found \(found?.shortened(to: 64).onOneLine ?? "none")")
        }
        guard url.utf8.count <= 16 << 10 else { return .ignored(reason: "expected a URL of at most 16 KiB") }
        guard let (response, way) = Self.response(in: url), response.repeatedName == nil else {
            return .refused(
                Self.refusal("expected each parameter once, in the query or in the fragment"))
        }
        if let error = response.values("error").first, !error.isEmpty {
            let server = OAuthError(error: error, errorDescription: response.values("error_description").first)
            return .refused(
                AuthError(
                    .accessDenied, .redirect, "Facebook did not sign the user in: \(server.summary)", server: server))
        }
        guard let code = response.values("code").first, let state = response.values("state").first, !code.isEmpty,
            !state.isEmpty
        else { return .refused(Self.refusal("expected a code and a state, found only one or neither")) }
        // A code is valid once: a URL that comes twice would end in an error page.
        guard delivered.insert(Secret(state)).inserted else { return .ignored(reason: "it was delivered before") }
        var parameters = FormParameters()
        parameters.append("code", code)
        parameters.append("state", state)
        parameters.append("fbapp_type", way)
        return .open(callback.appending(parameters))
    }

    /// Facebook's dialog adds a fragment of its own (`#_=_`) to a response in the query. So the part with the code or
    /// error counts.
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
        AuthError(.invalidRedirect, .redirect, "invalid response from Facebook: \(message)")
    }
}

extension FacebookDelivery.Step {
    /// Why the URL does not lead on.
    var reason: String {
        switch self {
        case .open: ""
        case .refused(let error): error.message
        case .ignored(let reason): reason
        }
    }
}
