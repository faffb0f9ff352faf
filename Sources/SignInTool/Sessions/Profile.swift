internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// A user's name for a session, which may be at the same provider as another one.
///
/// Its session is named after it. Beside it, `NAME.profile` has the command line of the sign-in, without secrets, so that
/// the user can sign in again with the name alone. It outlives the session.
struct Profile: Hashable, Sendable {
    let name: String

    private static let rule =
        "expected 1 to 32 letters, digits, '.', '_' and '-', of which the first is not '.' or '-'"

    /// - Throws: `ValidationError` with the rule for names.
    init(_ argument: String) throws {
        guard let profile = Profile(argument: argument) else { throw ValidationError(Self.rule) }
        self = profile
    }

    /// - Parameter argument: A file name of 1 to 32 letters, digits, `.`, `_` and `-` that does not begin with `.` or
    ///   `-`.
    init?(argument: String) {
        let isValid = argument.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-".utf8.contains($0) }
        guard isValid, (1...32).contains(argument.utf8.count), !argument.hasPrefix("."), !argument.hasPrefix("-") else {
            return nil
        }
        name = argument
    }

    /// The known profiles, for the completion in a shell.
    static var completion: CompletionKind {
        .custom { _, _, _ in ((try? Profile.all()) ?? []).map(\.name) }
    }

    /// Returns the profile that applies: the named one, or if the command line names no session, the one in
    /// `SIGN_IN_PROFILE`, or else the one that `sign-in use` has chosen.
    static func chosen(_ named: Profile?, lineNamesSession: Bool) throws -> Profile? {
        guard named == nil, !lineNamesSession else { return named }
        if let name = variable(Self.variableInUse) {
            guard let profile = Profile(argument: name) else { throw WrongUsage("\(variableInUse): \(rule)") }
            return profile
        }
        return try inUse.get()
    }

    /// The choice of ``use(_:)`` when this command began. A later one changes nothing for it, however long it runs.
    private static let inUse = Result {
        let file = try fileInUse
        guard let name = try file.read() else { return nil as Profile? }
        guard let profile = Profile(argument: name) else { throw file.damaged }
        return profile
    }

    /// Chooses the profile for commands whose command line names no session; nil for none.
    static func use(_ profile: Profile?) throws {
        guard let profile else { return try fileInUse.remove() }
        try fileInUse.write(profile.name + "\n")
    }

    /// The environment variable that takes precedence over the choice of ``use(_:)``.
    static let variableInUse = "SIGN_IN_PROFILE"

    /// It has no extension, as the files of sessions and profiles have.
    private static var fileInUse: StateFile {
        get throws {
            try StateFolder().file(
                "profile-in-use",
                remedy: "Choose a profile again with 'sign-in use NAME', or none: sign-in use --none")
        }
    }

    /// Checks that the user has signed in with this profile, even if the session is over.
    func checkIsKnown() throws {
        if try signIn == nil { throw WrongUsage(try isUnknown) }
    }

    /// The sentence that there is no such profile.
    var isUnknown: String {
        get throws {
            let known = try Profile.all().map(\.name).joined(separator: ", ")
            return known.isEmpty
                ? "there is no profile in \(try StateFolder().path) yet. To create \(name.foundText), sign in with --profile \(name), --issuer and --client-id"
                : "there is no profile \(name.foundText): expected \(known)"
        }
    }

    /// Whether there is a file of the session in the default folder.
    var hasFile: Bool { get throws { StateFile.isThere(try StateFolder().store(.profile(self)).path) } }

    /// The command line that signs in; nil for an unknown profile.
    var signIn: SignInLine? {
        get throws {
            let file = try file
            guard let text = try file.read() else { return nil }
            guard let line = Self.line(in: text) else { throw file.damaged }
            return line
        }
    }

    private static func line(in text: String) -> SignInLine? {
        guard let words = try? JSON(parsing: Array(text.utf8)).strings, !words.isEmpty else { return nil }
        let line = SignInLine(words)
        guard let store = line.value(of: "--store") else { return line }
        return (try? StoreChoice(store)).map { _ in line }
    }

    /// Whether the file cannot be used. If it only cannot be read now, it is not damaged.
    var isDamaged: Bool {
        do { _ = try signIn } catch { return (error as? AuthError)?.isTemporary != true }
        return false
    }

    private var file: StateFile {
        get throws {
            try StateFolder().file(
                name + ".profile",
                remedy: "Sign in with --profile \(name), --issuer and --client-id once, or remove it: "
                    + "sign-in logout --profile \(name) --forget")
        }
    }

    /// Throws if a sign-in with this line would give the profile to something else: helpers and proxies that name it would
    /// follow it there, and what it remembers would no longer be about its session.
    func requirePurpose(of line: SignInLine) throws {
        // A sign-in mends a damaged one.
        guard !isDamaged, let known = try signIn?.purpose.words.shellLine,
            try !known.isExactly(line.remembered.purpose.words.shellLine)
        else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "the profile \(name.foundText) signs in with \(known) only. To give the name to another session, forget this one "
                + "first: sign-in logout --profile \(name) --forget", outcome: .notSent)
    }

    /// Stores the command line of a sign-in.
    func remember(_ line: SignInLine) throws {
        try file.write(JSON.array(line.words.map(JSON.string)).serialized() + "\n")
    }

    /// Removes the command line of the sign-in.
    func forget() throws {
        try file.remove()
        let inUse = try Self.fileInUse
        if try inUse.read() == name { try inUse.remove() }
    }

    /// All known profiles, by name.
    static func all() throws -> [Profile] {
        try StateFolder().names().filter { $0.hasSuffix(".profile") }.sorted()
            .compactMap { Profile(argument: String($0.dropLast(".profile".count))) }
    }

    /// The store of the session, as the sign-in has named it.
    var store: any TokenStore {
        get throws { try choice?.store(.profile(self)) ?? StateFolder().store(.profile(self)) }
    }

    /// The store of the session; the default one if a damaged profile does not say where its session is.
    var likelyStore: any TokenStore {
        get throws { try (try? store) ?? StateFolder().store(.profile(self)) }
    }

    /// The error that nothing is known of the session of a profile that was damaged.
    var hasLostItsSession: AuthError {
        AuthError(
            .store, .store,
            "the profile \(name) was damaged and is removed. If its session was in another --store, sign out of it there",
            outcome: .notSent)
    }

    /// Whether the profile's session is in this store, as far as its options can be read.
    func hasSession(in found: any TokenStore) -> Bool { (try? store).map { $0.location == found.location } ?? true }

    /// Whether the profile's options lead to where this session is from, as far as they can be read.
    func isAbout(_ record: AuthStateRecord) -> Bool {
        guard let line = try? signIn else { return true }
        if line.namesResource {
            return line.resources.allSatisfy { (try? SecureURL($0)).map(record.isOwnResource) ?? false }
        }
        return line.value(of: "--issuer").map(record.client.provider.issuer.string.isExactly) ?? true
    }

    private var choice: StoreChoice? {
        get throws { try signIn?.value(of: "--store").map(StoreChoice.init(_:)) }
    }
}
