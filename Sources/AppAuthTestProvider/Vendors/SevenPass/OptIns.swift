internal import JOSE

/// What people have agreed to, or not, each under its type.
struct OptIns: Sendable {
    struct OptIn: Sendable {
        let type: String
        var isAccepted: Bool
        /// Seconds since 1970.
        var changedAt: Int

        var json: JSON {
            ["type": .string(type), "accepted": .bool(isAccepted), "updated_at": .number(.init(changedAt))]
        }
    }

    /// By subject.
    private let lists = LockedValue<[String: [OptIn]]>([:])

    /// What everybody begins with.
    private static let first = [
        OptIn(type: "newsletter", isAccepted: true, changedAt: 1_735_689_600),
        OptIn(type: "profiling", isAccepted: false, changedAt: 1_735_689_600),
    ]

    func list(of subject: String) -> [OptIn] { lists.withLock { $0[subject] ?? Self.first } }

    /// Changes a person's list as a whole.
    func update<Result>(of subject: String, _ body: (inout [OptIn]) throws -> Result) rethrows -> Result {
        try lists.withLock { lists in
            var list = lists[subject] ?? Self.first
            defer { lists[subject] = list }
            return try body(&list)
        }
    }
}
