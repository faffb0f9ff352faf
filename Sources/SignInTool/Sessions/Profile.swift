internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// A user's name for a session, which may be at the same provider as another one.
///
/// Its session is named after it. Beside it, `NAME.profile` has the command line of the sign-in, without secrets, so that
/// the user can sign in again with the name alone. It outlives the session.
///
/// The file has an ID too, which each session of the profile repeats. Until the profile is forgotten, only its own sign-ins
/// replace such a session, and no command takes another session for one of this profile.
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

    /// What is known of a profile.
    struct Known {
        /// The ID of its sessions; nil for a profile of an earlier version.
        let id: String?
        /// The command line that signs in.
        let signIn: SignInLine
        /// The issuer of the latest sign-in, which a resource may have named; nil before the first one.
        let issuer: String?

        fileprivate init?(_ text: String) {
            // An earlier version has stored the words alone.
            guard let json = try? JSON(parsing: Array(text.utf8)), let words = (json["sign_in"] ?? json).strings,
                !words.isEmpty
            else { return nil }
            (id, signIn, issuer) = (json["id"]?.string, SignInLine(words), json["issuer"]?.string)
            if let store = signIn.value(of: "--store"), (try? StoreChoice(store)) == nil { return nil }
        }
    }

    /// What is known of this profile; nil for an unknown one.
    var known: Known? {
        get throws {
            let file = try file
            guard let text = try file.read() else { return nil }
            guard let known = Known(text) else { throw file.damaged }
            return known
        }
    }

    /// The command line that signs in; nil for an unknown profile.
    var signIn: SignInLine? { get throws { try known?.signIn } }

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
        // Swift’s strings compare by canonical equivalence.
        guard !isDamaged, let known = try signIn?.purpose.words,
            try !known.map({ Array($0.utf8) }).elementsEqual(line.remembered.purpose.words.map { Array($0.utf8) })
        else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "the profile \(name.foundText) signs in with \(known.shellLine) only. To give the name to another session, forget this one "
                + "first: sign-in logout --profile \(name) --forget" + (try renamed(as: line)), outcome: .notSent)
    }

    /// The end of that message, if the line names another issuer: a provider that has changed its name is still the same, so
    /// the other options that the profile remembers are repeated.
    private func renamed(as line: SignInLine) throws -> String {
        guard let known = try signIn, known.words.first == line.words.first, let issuer = known.value(of: "--issuer"),
            !known.namesResource,
            !line.namesResource,
            let new = line.value(of: "--issuer"), !new.isExactly(issuer)
        else { return "" }
        let again = try SignInLine(line.remembered.completed(from: known).words + ["--profile", name])
        return ". Then sign in with: \(again.shellLine)"
    }

    /// Creates the profile before its first session is stored, which has this ID. A damaged one is replaced.
    ///
    /// - Throws: ``AuthError`` if the name belongs to another profile by now.
    func create(_ id: String?, signIn line: SignInLine) throws {
        let known = isDamaged ? nil : try known
        if let known, known.id == id { return }
        guard known?.id == nil else { throw belongsToAnother }
        do { try write(id, line, mustBeNew: known == nil && !isDamaged) } catch {
            throw (try? self.known?.id) == known?.id ? error : belongsToAnother
        }
    }

    private var belongsToAnother: AuthError {
        AuthError(
            .sessionReplaced, .store,
            "another sign-in has created the profile \(name.foundText) in the meantime. It stays as it was",
            outcome: .notSent)
    }

    /// Stores how the user has signed in to a session, if the profile is still the session's.
    ///
    /// - Parameter line: The command line of the sign-in; nil for the one that is known.
    func remember(_ line: SignInLine?, of record: AuthStateRecord) throws {
        let (known, issuer) = (try known, record.client.provider.issuer.string)
        guard let known, known.id == record.profileID else { throw belongsToAnother }
        guard line != nil || known.issuer?.isExactly(issuer) != true else { return }
        try write(known.id, line ?? known.signIn, issuer: issuer)
    }

    private func write(_ id: String?, _ line: SignInLine, issuer: String? = nil, mustBeNew: Bool = false) throws {
        var json: JSON.Object = ["sign_in": .array(line.words.map(JSON.string))]
        json["id"] = id.map(JSON.string)
        json["issuer"] = issuer.map(JSON.string)
        try file.write(JSON.object(json).serialized() + "\n", mustBeNew: mustBeNew)
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

    /// Whether this is a session of the profile, as far as that can be read.
    func hasSession(_ record: AuthStateRecord) -> Bool {
        if let known = try? known { return known.id == record.profileID }
        // Without its file, the session is another profile's only if that one has the ID.
        return Self.with(record.profileID) == nil
    }

    /// Throws if this is not a session of the profile, although it is in its place.
    func requireSession(_ record: AuthStateRecord, in store: any TokenStore) throws {
        guard !hasSession(record) else { return }
        let other = Self.with(record.profileID).map { "the profile \($0.name.foundText)" } ?? "another sign-in"
        throw AuthError(
            .invalidConfiguration, .store,
            "\(store.shownLocation) has the session of \(other), not of the profile \(name.foundText)")
    }

    /// Returns the profile with this ID; nil if it was forgotten.
    static func with(_ id: String?) -> Profile? {
        // One that cannot be read says nothing.
        id.flatMap { id in try? all().first { (try? $0.known?.id) == id } }
    }

    private var choice: StoreChoice? {
        get throws { try signIn?.value(of: "--store").map(StoreChoice.init(_:)) }
    }
}
