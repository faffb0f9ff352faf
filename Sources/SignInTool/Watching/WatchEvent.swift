internal import AppAuth
internal import FoundationEssentials
internal import JOSE

/// What the user learns about a watched session. Nothing in it is secret.
struct WatchEvent: Sendable {
    let reminder: WatchSchedule.Reminder
    let profile: Profile
    let record: AuthStateRecord
    /// The command line that signs in again.
    let signIn: SignInLine

    var json: JSON {
        var json: JSON.Object = [
            "event": .string(reminder.need.name), "profile": .string(profile.name),
            "issuer": .string(record.client.provider.issuer.string), "client_id": .string(record.client.id),
            "user": record.idToken?.claims.shortName.map(JSON.string) ?? .null,
            "reminder": .number(.init(reminder.number)), "command": .string(signIn.shellLine),
        ]
        switch reminder.need {
        case .signIn(let reason), .refreshFails(let reason): json["reason"] = .string(reason)
        case .signInBefore(let end): json["before"] = .string(end.ISO8601Format())
        }
        return .object(json)
    }

    /// Whether a sign-in helps. If only the network or the provider fails, the user can do nothing.
    var needsSignIn: Bool { if case .refreshFails = reminder.need { false } else { true } }

    var title: String {
        switch reminder.need {
        case .signIn: "\(profile.name): sign in again"
        case .signInBefore(let end): "\(profile.name): sign in again before \(end.shown)"
        case .refreshFails: "\(profile.name): no new token for an hour"
        }
    }

    var text: String {
        switch reminder.need {
        case .signIn(let reason), .refreshFails(let reason): sentence(reason)
        case .signInBefore: "\(host) ends the session then."
        }
    }

    private func sentence(_ reason: String) -> String {
        let text = reason.withSingleBlanks.shortened(toCells: 300).asSentence
        return text.hasSuffix(".") ? text : text + "."
    }

    private var host: String { (try? SecureURL(record.client.provider.issuer.string))?.shownHost ?? "The provider" }
}
