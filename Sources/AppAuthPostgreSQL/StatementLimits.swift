/// How long the server works on a statement, which includes how long it waits for a lock. A wait for a lock ends before the limit of a
/// call, so that its caller learns the reason, unless earlier statements of the call have used up the time.
struct StatementLimits: Sendable {
    private let (all, locks): (Int64, Int64)

    init(_ callTimeout: Duration) { (all, locks) = (callTimeout.milliseconds, (callTimeout * 3 / 4).milliseconds) }

    /// For the wait for the refresh lock.
    static let none = StatementLimits(all: 0, locks: 0)

    private init(all: Int64, locks: Int64) { (self.all, self.locks) = (all, locks) }

    /// Returns the statements that set the limits.
    ///
    /// - Parameter local: Whether they end with the transaction.
    func statements(local: Bool = false) -> String {
        [("statement_timeout", all), ("lock_timeout", locks)].map { "SET \(local ? "LOCAL " : "")\($0) = \($1)" }
            .joined(separator: "; ")
    }
}
