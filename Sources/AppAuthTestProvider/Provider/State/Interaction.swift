internal import FoundationEssentials

/// The pages between an authorization request and its response, which the user works through.
struct Interaction: Sendable {
    let id: String
    let request: AuthorizationRequest
    let expiresAt: Date
    /// The browser that began the interaction. No other may continue it.
    var browserID: String
    /// The browser at the pages, if they have an origin of their own and a browser has opened them.
    var visitorID: String?
    /// The sign-in at such pages. It becomes the browser's when the pages return to the issuer.
    var signIn: Browser.SignIn?
    var isDenied = false
    var hasSignedIn = false
    var hasChosenAccount = false
    var hasConsented = false

    static let lifetime = 600
}
