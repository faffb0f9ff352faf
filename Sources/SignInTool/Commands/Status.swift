internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in status`.
struct Status: Command {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Lists the stored sessions, without tokens.",
        discussion: "Example: sign-in status")

    @OptionGroup var session: SessionOptions
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        var sessions: [JSON] = []
        var table = Table(header: ["PROFILE", "USER", "ISSUER", "CLIENT", "STATE", "TOKEN EXPIRES", "STORE"])
        var unreadable: [(location: String, error: AuthError)] = []
        for entry in try await stored(limit) {
            let location = entry.store.location
            switch entry.record {
            case .success(let record):
                guard (session.issuer ?? record.client.provider.issuer.string) == record.client.provider.issuer.string,
                    (session.clientID ?? record.client.id) == record.client.id
                else { continue }
                sessions.append(Self.entry(record, location))
                table.rows.append(Self.row(record, sessions[sessions.count - 1], entry.profile))
            case .failure(let error): unreadable.append((location, error))
            }
        }
        // If nothing can be read, "no session" would be a guess.
        let failure = sessions.isEmpty ? unreadable.popLast() : nil
        for (location, error) in unreadable { console.note(error.message(for: ["--store", Self.option(location)])) }
        if let failure { throw failure.error }
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
        try console.succeed(.object(result), text: sessions.count > 1 ? table.text : Self.text(sessions.first))
        return 0
    }

    /// Returns the argument of `--store` for a location.
    static func option(_ location: String) -> String { location.hasPrefix("keyring:") ? "keyring" : location }

    private func stored(_ limit: Duration) async throws -> [StateFolder.Entry] {
        if let profile = session.profile {
            return try await StateFolder.entries([(profile.store.within(limit), profile)])
        }
        switch session.store {
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

    private static func entry(_ record: AuthStateRecord, _ location: String) -> JSON {
        let pause = record.refreshPause(at: .current)
        return [
            "issuer": .string(record.client.provider.issuer.string), "client_id": .string(record.client.id),
            "sub": record.idToken.map { .string($0.subject) } ?? .null, "store": .string(location),
            "access_token_expires_at": record.expiry, "has_refresh_token": .bool(record.refreshToken != nil),
            "state": record.end == nil ? "signed_in" : "ended",
            "reason": record.end.map { .string($0.reason) } ?? .null,
            "refresh_paused_until": pause?.nextAttempt.map { .string($0.ISO8601Format()) } ?? .null,
            "refresh_error": pause.map { .string($0.message) } ?? .null,
        ]
    }

    /// Returns the line of one session among several.
    private static func row(_ record: AuthStateRecord, _ entry: JSON, _ profile: Profile?) -> [String] {
        func text(_ name: String) -> String { entry[name]?.string ?? "–" }
        return [
            profile?.name ?? "–", record.idToken?.claims.shortName ?? "–", text("issuer"), text("client_id"),
            text("state") + end(entry), text("access_token_expires_at"), text("store"),
        ]
    }

    private static func text(_ session: JSON?) -> String {
        guard let entry = session else { return "No session is stored." }
        func text(_ name: String) -> String { entry[name]?.string ?? "–" }
        let cells = [text("issuer"), text("client_id"), text("sub"), text("state") + end(entry), text("store")]
        return cells.joined(separator: "  ").onOneLine
    }

    private static func end(_ entry: JSON) -> String {
        (entry["reason"]?.string ?? entry["refresh_error"]?.string).map { ": \($0)" } ?? ""
    }
}
