package import FoundationEssentials
internal import JOSE

extension JSON {
    package init(storing secret: Secret) { self = .string(secret.reveal()) }

    /// Stores seconds, limited to ±10¹², which is as much as can be read back.
    init(storing duration: Duration) {
        let longest = Duration.longest
        self = .number(Number(validated: "\(max(-longest, min(longest, duration.seconds)))"))
    }

    /// Stores seconds since 1970.
    package init(storing date: Date) throws {
        let seconds = date.timeIntervalSince1970
        guard seconds.isFinite else {
            throw AuthError(.store, .store, "expected a date to store, found \(seconds) seconds", outcome: .notSent)
        }
        self = .number(Number(validated: "\(seconds)"))
    }
}
