internal import AppAuth
internal import JOSE

/// What happened to the session of a store.
struct SignedOut {
    var store: (any TokenStore)?
    /// Whether the command signs out of several sessions, so that messages must say which one they are about.
    var isOneOfSeveral = false
    /// Nil if there was no session that could be read.
    var record: AuthStateRecord?
    /// The new name of a damaged session.
    var discarded: String?
    var report = SignOut.Report()

    var location: String { store?.shownLocation ?? "" }
    var hadSession: Bool { record != nil || discarded != nil }

    var json: JSON.Object {
        // A session can have several access tokens. Each kind is named once, if all of its tokens are revoked.
        let kept = Set(report.revocations.filter { $0.error != nil }.map(\.tokenTypeHint))
        let revoked = ["refresh_token", "access_token"].filter { kind in
            !kept.contains(kind) && report.revocations.contains { $0.tokenTypeHint == kind }
        }.map(JSON.string)
        var json: JSON.Object = ["revoked": .array(revoked), "session_ended": .bool(report.sessionEnded)]
        if let discarded { json["discarded"] = .string(discarded) }
        return json
    }

    /// The beginning of a message about this session.
    var prefix: String { isOneOfSeveral ? "\(location): " : "" }
}
