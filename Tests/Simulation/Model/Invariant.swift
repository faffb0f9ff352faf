/// The properties that must hold in every run.
enum Invariant: String, CaseIterable {
    case sessionKept = "a session that the server honours is not lost"
    case noReuse = "no refresh token is presented after its successor was stored"
    case oneRequest = "at most one request of a session is on its way"
    case oneRefresh = "no valid token is refreshed, and none twice for waiting callers"
    case persistBeforePublish =
        "an access token is handed out only after the refresh token that came with it was stored"
    case noDeadToken = "no token is handed out that the process knows to be dead"
    case noReturn = "a session that was ended or removed does not come back"
    case noOverwrite = "a new sign-in is not overwritten by something old"
    case pauses = "nothing is sent inside a pause, and there is none after a first failure"
    case withholdsNothing = "an ID token that cannot be verified now withholds no access token"
    case ownErrors = "an error about a caller's own parameters is reported to no other"
    case noSurprise = "the user learns of an announced end in good time, and not too early"
    case readable = "the record is read as it was written"
    case healthyAgain = "when all is well again, a call succeeds"
}

/// A violated invariant.
struct Violation: Sendable {
    let invariant: Invariant
    let what: String
}
