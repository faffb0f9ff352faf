internal import FoundationEssentials

/// The pages between an authorization request and its response, which the user works through.
struct Interaction: Sendable {
    let id: String
    let request: AuthorizationRequest
    let expiresAt: Date
    /// The browser that began the interaction. No other may continue it.
    var browserID: String
    var hasSignedIn = false
    var hasChosenAccount = false
    var hasConsented = false

    static let lifetime = 600
}
