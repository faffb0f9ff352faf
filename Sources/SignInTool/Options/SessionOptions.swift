internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// The options that select a stored session.
struct SessionOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: "The profile of the session. (default: SIGN_IN_PROFILE, or the one that 'sign-in use' has chosen)",
        completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(parsing: .unconditional, help: "The issuer of the session; required if several are stored.")
    var issuer: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id of the session.")
    var clientID: String?
    @Option(
        parsing: .unconditional, help: "Where the session is stored: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(stored:))
    var store: StoreChoice?

    func validate() throws {
        if profile != nil, store != nil { throw ValidationError("--profile and --store exclude each other") }
    }
}
