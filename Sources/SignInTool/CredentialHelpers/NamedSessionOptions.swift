internal import AppAuth
internal import ArgumentParser

/// The options that name the session of a helper.
///
/// A helper is set up for certain servers. If it followed `sign-in use` or took the only session, these servers would get
/// the token of another session as soon as the user signs in elsewhere.
struct NamedSessionOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional,
        help: "The profile of the session. This, or --issuer and --client-id, or a file is required.",
        completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(parsing: .unconditional, help: "The issuer of the session.")
    var issuer: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id of the session.")
    var clientID: String?
    @Option(
        parsing: .unconditional, help: "Where the session is stored: file:PATH, encrypted:PATH or keyring.",
        completion: StoreChoice.completion, transform: StoreChoice.init(stored:))
    var store: StoreChoice?

    func validate() throws {
        if profile != nil, store != nil { throw ValidationError("--profile and --store exclude each other") }
    }

    /// Returns the options, if they name a session.
    ///
    /// - Throws: ``WrongUsage`` with the stored sessions.
    func options(within limit: Duration) async throws -> SessionOptions {
        let isPlace = store?.namesSession == true
        guard profile == nil, !isPlace, issuer == nil || clientID == nil else {
            if profile == nil, !isPlace, let issuer, let clientID {
                try await requireOwnSession(of: Issuer(issuer), clientID, limit)
            }
            var session = SessionOptions()
            (session.profile, session.issuer, session.clientID, session.store) = (profile, issuer, clientID, store)
            return session
        }
        let stores = try StateFolder.storesWithProfiles().map { ($0.store.within(limit), $0.profile) }
        let choices = try await SessionOptions.choices(StateFolder.entries(stores))
        throw choices.isEmpty
            ? WrongUsage(
                "a helper needs the name of its session, --profile NAME, or --issuer URL and --client-id ID. None is "
                    + "stored: see 'sign-in login --help'")
            : WrongUsage("a helper needs the name of its session", choosing: choices.map { .init(words: $0) })
    }

    /// Throws if the client has only sessions for resources: their tokens are not for the helper's servers, also after the
    /// client's own session has ended.
    private func requireOwnSession(of issuer: Issuer, _ clientID: String, _ limit: Duration) async throws {
        guard let folder = try? StateFolder(), folder.ownStores(of: issuer, clientID).isEmpty else { return }
        let entries = try await StateFolder.entries(folder.stores(of: issuer, clientID).map { $0.within(limit) })
            .filter(\.isForResource)
        guard !entries.isEmpty else { return }
        throw WrongUsage(
            "this client’s sessions are for resources, and a helper needs the name of its session",
            choosing: SessionOptions.choices(entries).map { .init(words: $0) })
    }
}
