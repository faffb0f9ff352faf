internal import AppAuth
internal import AppAuthProtocol
internal import FoundationEssentials

/// A stored session, or a profile that is signed out, as `sign-in status` lists it.
struct ListedSession: Sendable {
    let store: any TokenStore
    let profile: Profile?
    let isInUse: Bool
    /// Nil if the profile is signed out.
    let record: AuthStateRecord?
    /// The command line that signs in again; nil if that is not necessary.
    var signIn: SignInLine?

    var issuer: String? { record?.client.provider.issuer.string ?? line?.value(of: "--issuer") }
    var clientID: String? { record?.client.id ?? line?.value(of: "--client-id") }
    var entry: StateFolder.Entry? { record.map { .init(store: store, profile: profile, record: .success($0)) } }
    var isSignedIn: Bool { record?.isUsable(at: .current) ?? false }

    /// The command line of the profile's sign-in.
    private var line: SignInLine? { try? profile?.signIn }
    private var expiry: String? { record?.accessToken?.expiresAt?.ISO8601Format() }
    private var pause: AuthError? { record?.refreshPause(at: .current) }
    private var idTokenError: String? {
        record?.idTokenError(at: .current).map { $0.message + ($0.adviceOnAudience.map { "; \($0)" } ?? "") }
    }

    var json: JSON {
        func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
        var json: JSON.Object = [
            "issuer": text(issuer), "client_id": text(clientID), "store": .string(store.shownLocation),
            "in_use": .bool(isInUse),
        ]
        if let profile { json["profile"] = .string(profile.name) }
        guard let record else { return .object(json) }
        let more: JSON.Object = [
            "sub": text(record.idToken?.subject), "user": text(record.idToken?.claims.shortName),
            "access_token_expires_at": text(expiry),
            "sign_in_again_before": text(record.announcedEnd?.ISO8601Format()),
            "refresh_before": text(record.refreshDeadline?.ISO8601Format()),
            "has_refresh_token": .bool(record.refreshToken != nil),
            "state": .string(record.state), "reason": text(record.reasonToSignIn),
            "refresh_paused_until": text(pause?.retryDelay.map { (.now + $0.seconds).ISO8601Format() }),
            "refresh_error": text(pause?.message), "id_token_error": text(idTokenError),
        ]
        for member in more.members { json[member.name] = member.value }
        if !record.resources.isEmpty { json["resources"] = .array(record.resources.map(JSON.string)) }
        return .object(json)
    }

    /// Who is signed in where, in one line.
    var title: String {
        let host = issuer.flatMap { try? SecureURL($0) }?.shownHost
        // A shell runs a word at the begin of a pasted line, so no line begins with a server's.
        let name = profile?.name ?? "no profile"
        let room = max(8, min(40, String.terminalCells - 8 - name.count))
        let user = record?.idToken?.claims.shortName?.shortened(toCells: room).shownName ?? "an unknown user"
        let who = record == nil ? host : [user, host].compactMap { $0 }.joined(separator: " at ")
        let state = record?.stateDescription ?? "signed out"
        return "\(name): " + [who, state].compactMap { $0 }.joined(separator: ", ")
    }

    /// A block of lines: the title, and below it what is known.
    var text: String {
        let lines = title.wrapped(after: isInUse ? "* " : "  ", then: "  | ")
            .map { Console.styled($0, .bold, on: .output) }
        let details = details.compactMap { name, value, isSentence in
            value?.withSingleBlanks.detail(name, isSentence: isSentence)
        }
        // A command line is copied, so it is not split.
        let again = signIn.map { "    Sign in again with:\n      \($0.shellLine)" }
        return (lines + details + [again].compactMap(\.self)).joined(separator: "\n")
    }

    private var details: [(name: String, value: String?, isSentence: Bool)] {
        let until = expiry.map { "until \($0)" + (record?.refreshToken == nil ? "" : ", then refreshed") }
        let resources = record?.resources.map(\.shownURL).joined(separator: ", ") ?? ""
        return [
            ("issuer", issuer?.shownURL, false), ("for", resources.isEmpty ? nil : resources, false),
            ("client", clientID?.shownName, true),
            ("token", record?.end == nil ? until : nil, true), ("store", store.shownLocation, false),
            ("end", record?.announcedEnd.map { "sign in again before \($0.shown)" }, true),
            ("unused", record?.refreshDeadline.map { "it ends unless it is refreshed before \($0.shown)" }, true),
            // Why a session has ended or needs the user, why its next refresh waits, and why its claims may be old.
            ("reason", record?.reasonToSignIn, true), ("refresh", pause?.message, true),
            ("claims", idTokenError.map { "the last ID token could not be verified: \($0)" }, true),
        ]
    }
}
