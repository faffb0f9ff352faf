/// Why a store refuses, where an app can do something about it: see ``AuthError/storeProblem``. Open, so that new
/// problems break nobody.
public struct StoreProblem: RawRepresentable, Hashable, Sendable {
    /// For logs.
    public let rawValue: String
    /// Makes a problem of a store of one's own.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The library that the store needs is not installed.
    public static let noLibrary = StoreProblem(rawValue: "no_library")
    /// There is no session bus: a cron job, a container, a bare terminal.
    public static let noBus = StoreProblem(rawValue: "no_bus")
    /// There is a session bus, and no service on it that keeps secrets.
    public static let noService = StoreProblem(rawValue: "no_service")
    /// The keyring is locked, and nobody was to be asked, or there is nobody to ask.
    public static let locked = StoreProblem(rawValue: "locked")
    /// The person was asked to unlock the keyring and did not, or the question could not be shown.
    public static let dismissed = StoreProblem(rawValue: "dismissed")
    /// The person was asked to unlock the keyring, and has not answered in time.
    public static let unanswered = StoreProblem(rawValue: "unanswered")
    /// The system does not let this program use it: a sandbox, a policy of the bus.
    public static let denied = StoreProblem(rawValue: "denied")
    /// The place of a session that was stored is missing at the moment: a home folder that is not mounted, a keyring service
    /// with no keyring open. The session is not over.
    public static let unavailable = StoreProblem(rawValue: "unavailable")
    /// What is in the store cannot be used as a session: it is damaged, something else, another user's, or of a later version of
    /// this library. It is left as it is. `discard()` of the library's stores sets it aside, so that a new session can be stored.
    public static let damaged = StoreProblem(rawValue: "damaged")
    /// Another process has held a lock of the session for longer than a caller waits; the error names it if it can.
    public static let busy = StoreProblem(rawValue: "busy")
    /// The session is on its way from one store to another: see ``TokenStore/moveSession(to:)``.
    public static let moving = StoreProblem(rawValue: "moving")
}
