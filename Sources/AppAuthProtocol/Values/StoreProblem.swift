/// A reason why a store fails that an app can do something about: see ``AuthError/storeProblem``. The type is open, so
/// that new problems break no caller.
public struct StoreProblem: RawRepresentable, Hashable, Sendable {
    /// The problem's name, for logs.
    public let rawValue: String
    /// Creates a problem for a custom store.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The library that the store needs is not installed.
    public static let noLibrary = StoreProblem(rawValue: "no_library")
    /// There is no session bus, as in a cron job, a container or a bare terminal.
    public static let noBus = StoreProblem(rawValue: "no_bus")
    /// The session bus has no service that keeps secrets.
    public static let noService = StoreProblem(rawValue: "no_service")
    /// The keyring is locked, and the user could not or should not be asked.
    public static let locked = StoreProblem(rawValue: "locked")
    /// The user was asked to unlock the keyring and declined, or the prompt could not be shown.
    public static let dismissed = StoreProblem(rawValue: "dismissed")
    /// The user was asked to unlock the keyring and did not respond in time, or the keyring service does not respond.
    public static let unanswered = StoreProblem(rawValue: "unanswered")
    /// The system denies this program access, as in a sandbox or by a policy of the bus.
    public static let denied = StoreProblem(rawValue: "denied")
    /// The location of a stored session is missing at the moment, for example a home folder that is not mounted, or a
    /// keyring service without an open keyring. The session is not over.
    public static let unavailable = StoreProblem(rawValue: "unavailable")
    /// The stored content cannot be used as a session: it is damaged, something else, another user's, or in another
    /// format version. It is left unchanged. `discard()` of the library's stores moves it aside, so that a new session can
    /// be stored.
    public static let damaged = StoreProblem(rawValue: "damaged")
    /// The session is encrypted with a key that the store was not given, for example another passphrase. It is left
    /// unchanged.
    public static let encryption = StoreProblem(rawValue: "encryption")
    /// The store has keys, and the session is not encrypted: a program that can write there may have put it there. It is
    /// left unchanged.
    public static let notEncrypted = StoreProblem(rawValue: "not_encrypted")
    /// Another process has held a lock of the session for longer than a caller waits. The error names it if possible.
    public static let busy = StoreProblem(rawValue: "busy")
}

extension AuthError {
    /// Returns the error for a store whose content is not a session.
    package static func damagedStore(_ location: String, _ why: String) -> AuthError {
        var error = AuthError(.store, .store, "\(location) \(why). It was not changed", outcome: .notSent)
        error.storeProblem = .damaged
        return error
    }
}
