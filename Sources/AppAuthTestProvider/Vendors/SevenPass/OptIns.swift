internal import AppAuthConcurrency
internal import JOSE

/// The opt-ins of users, accepted or declined, each with its type.
struct OptIns: Sendable {
    struct OptIn: Sendable {
        let type: String
        var isAccepted: Bool
        /// The time of the last change in seconds since 1970.
        var changedAt: Int

        var json: JSON {
            ["type": .string(type), "accepted": .bool(isAccepted), "updated_at": .number(.init(changedAt))]
        }
    }

    /// The lists by subject.
    private let lists = LockedValue<[String: [OptIn]]>([:])

    /// The initial list of every user.
    private static let first = [
        OptIn(type: "newsletter", isAccepted: true, changedAt: 1_735_689_600),
        OptIn(type: "profiling", isAccepted: false, changedAt: 1_735_689_600),
    ]

    func list(of subject: String) -> [OptIn] { lists.withLock { $0[subject] ?? Self.first } }

    /// Changes a user's list as a whole.
    func update<Result>(of subject: String, _ body: (inout [OptIn]) throws -> Result) rethrows -> Result {
        try lists.withLock { lists in
            var list = lists[subject] ?? Self.first
            defer { lists[subject] = list }
            return try body(&list)
        }
    }
}
