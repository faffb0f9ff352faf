import Testing

/// A server that does something that the specifications do not say, and what becomes of a sign-in there.
///
/// Each leniency has a row beside it that is wrong in only the respect that stays refused.
struct RealServer: Sendable, CustomTestStringConvertible {
    /// Where it was seen; "any" for what no server may do.
    let server: String
    /// The year of the report.
    let year: Int
    let deviation: String
    let result: String
    let check: @Sendable () async throws -> Void

    init(
        _ server: String, _ year: Int, _ deviation: String, _ result: String,
        _ check: @escaping @Sendable () async throws -> Void
    ) {
        (self.server, self.year, self.deviation) = (server, year, deviation)
        (self.result, self.check) = (result, check)
    }

    /// The article "Real servers" is made from this (Tests/Documentation/real-servers).
    var testDescription: String { "\(server) | \(year) | \(deviation) | \(result)" }
}
