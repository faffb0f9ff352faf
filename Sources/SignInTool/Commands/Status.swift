internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in status`.
struct Status: Command {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Lists the stored sessions, without tokens.",
        discussion: "Example: sign-in status")

    @Option(
        parsing: .unconditional, help: "List only the session of this profile. If it is not signed in, fail.",
        completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Option(parsing: .unconditional, help: "List only the sessions at this issuer.")
    var issuer: String?
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "List only the sessions of this client.")
    var clientID: String?
    @Option(
        parsing: .unconditional,
        help: "List what is stored there: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if profile != nil, store != nil { throw ValidationError("--profile and --store exclude each other") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        // A misspelled profile is an error, not one that is signed out.
        if let profile, try !profile.hasFile { try profile.checkIsKnown() }
        var sessions: [JSON] = []
        var isSignedIn = false
        var table = Table(header: ["PROFILE", "USER", "ISSUER", "CLIENT", "STATE", "TOKEN EXPIRES", "STORE"])
        var unreadable: [(location: String, error: AuthError)] = []
        for entry in try await stored(limit) {
            let location = entry.store.shownLocation
            switch entry.record {
            case .success(let record):
                guard (issuer ?? record.client.provider.issuer.string) == record.client.provider.issuer.string,
                    (clientID ?? record.client.id) == record.client.id
                else { continue }
                let listed = Self.entry(record, location, entry.profile)
                sessions.append(listed)
                table.rows.append(Self.row(record, listed))
                if let remark = Self.remark(listed) { table.remarks.append(remark) }
                if record.isUsable(at: .current) { isSignedIn = true }
            case .failure(let error): unreadable.append((location, error))
            }
        }
        // If nothing can be read, "no session" would be a guess.
        let failure = sessions.isEmpty ? unreadable.popLast() : nil
        for (location, error) in unreadable { console.note(error.message(for: ["--store", Self.option(location)])) }
        if let failure {
            var error = failure.error
            // The hint is complete: it names the session, which the arguments may not.
            (error.message, error.storeProblem) = (error.message(for: ["--store", Self.option(failure.location)]), nil)
            throw error
        }
        var result: JSON.Object = ["sessions": .array(sessions)]
        if !unreadable.isEmpty {
            result["unreadable"] = .array(
                unreadable.map {
                    [
                        "store": .string($0.location),
                        "reason": .string($0.error.message(for: ["--store", Self.option($0.location)])),
                    ]
                })
        }
        let text = sessions.isEmpty ? "No session is stored." : table.text
        guard let profile, !isSignedIn else {
            try console.succeed(.object(result), text: text)
            return 0
        }
        if !json { try console.print(Array((text + "\n").utf8)) }
        let command = (try? profile.signIn)?.first ?? SignInLine.commands[0]
        let line = ["sign-in", command, "--profile", profile.name].shellLine
        console.fail(
            code: AuthError.Code.signInRequired.rawValue,
            "the profile is not signed in. Sign in with: \(line)")
        return 1
    }

    /// Returns the argument of `--store` for a location.
    static func option(_ location: String) -> String { location.hasPrefix("keyring:") ? "keyring" : location }

    private func stored(_ limit: Duration) async throws -> [StateFolder.Entry] {
        if let profile {
            return try await StateFolder.entries([(profile.store.within(limit), profile)])
        }
        switch store {
        case nil:
            // A system without any keyring is no error.
            let stores = try StateFolder.storesWithProfiles().map { ($0.store.within(limit), $0.profile) }
            return try await StateFolder.entries(stores).filter { entry in
                guard case .failure(let error) = entry.record else { return true }
                return ![.noLibrary, .noBus, .noService].contains(error.storeProblem)
            }
        case .keyring: return try await StateFolder.entries(KeyringTokenStore.allOfSignIn(within: limit))
        case .file(let path): return try await StateFolder.entries([FileTokenStore(path: path)])
        case .encrypted(let path): return try await StateFolder.entries([StorePassphrase.file(path)])
        case .memory: return []
        }
    }

    private static func entry(_ record: AuthStateRecord, _ location: String, _ profile: Profile?) -> JSON {
        let pause = record.refreshPause(at: .current)
        var entry: JSON.Object = [
            "issuer": .string(record.client.provider.issuer.string), "client_id": .string(record.client.id),
            "sub": record.idToken.map { .string($0.subject) } ?? .null,
            "user": record.idToken?.claims.shortName.map(JSON.string) ?? .null, "store": .string(location),
            "access_token_expires_at": record.expiry, "has_refresh_token": .bool(record.refreshToken != nil),
            "state": .string(record.state), "reason": record.reasonToSignIn.map(JSON.string) ?? .null,
            "refresh_paused_until": pause?.retryDelay.map { .string((.now + $0.seconds).ISO8601Format()) } ?? .null,
            "refresh_error": pause.map { .string($0.message) } ?? .null,
            "id_token_error": record.idTokenError(at: .current).map { .string($0.message) } ?? .null,
        ]
        if let profile { entry["profile"] = .string(profile.name) }
        return .object(entry)
    }

    private static func row(_ record: AuthStateRecord, _ entry: JSON) -> [String] {
        func text(_ name: String) -> String { entry[name]?.string ?? "–" }
        return [
            text("profile"), text("user"), text("issuer"), text("client_id"), record.stateDescription,
            text("access_token_expires_at"), text("store"),
        ]
    }

    /// Returns why a session has ended or needs the user, why its next refresh waits, or why its claims may be old: too long
    /// for a column.
    private static func remark(_ entry: JSON) -> String? {
        let name = entry["profile"]?.string ?? entry["store"]?.string ?? ""
        let unverified = entry["id_token_error"]?.string.map { "the last ID token could not be verified: \($0)" }
        return (entry["reason"]?.string ?? entry["refresh_error"]?.string ?? unverified).map { "\(name): \($0)" }
    }
}
