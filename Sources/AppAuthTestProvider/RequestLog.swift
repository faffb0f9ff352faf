internal import JOSE

/// The requests so far, and how many came to each endpoint.
final class RequestLog: Sendable {
    private let entries = LockedValue<[LoggedRequest]>([])
    private let keepsEntries: Bool
    private let tallies = LockedValue<[Endpoint: Tally]>([:])

    init(keepsEntries: Bool) { self.keepsEntries = keepsEntries }

    var all: [LoggedRequest] { entries.withLock { $0 } }

    /// Counts a request, and keeps it if requests are kept.
    ///
    /// - Returns: Where it stands; nil if it is not kept.
    func add(_ request: LoggedRequest) -> Int? {
        let index: Int? = entries.withLock { entries in
            guard keepsEntries else { return nil }
            entries.append(request)
            return entries.count - 1
        }
        tally(request.endpoint).add()
        return index
    }

    func setStatus(_ status: Int, at index: Int) { entries.withLock { $0[index].status = status } }

    func count(_ endpoint: Endpoint) -> Int { tally(endpoint).count }

    /// Returns once the endpoint has had so many requests in all.
    func reaches(_ count: Int, _ endpoint: Endpoint) async throws { try await tally(endpoint).reaches(count) }

    private func tally(_ endpoint: Endpoint) -> Tally {
        tallies.withLock { tallies in
            let tally = tallies[endpoint] ?? Tally()
            tallies[endpoint] = tally
            return tally
        }
    }
}
