internal import AppAuthConcurrency

/// The requests so far, and their number at each endpoint.
final class RequestLog: Sendable {
    private let entries = LockedValue<[LoggedRequest]>([])
    private let keepsEntries: Bool
    private let tallies = LockedValue<[Endpoint: Tally]>([:])

    init(keepsEntries: Bool) { self.keepsEntries = keepsEntries }

    var all: [LoggedRequest] { entries.withLock { $0 } }

    /// Counts a request, and stores it if requests are kept.
    ///
    /// - Returns: The index of the request; nil if it is not kept.
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

    /// Waits until the endpoint has received this many requests in all.
    func reaches(_ count: Int, _ endpoint: Endpoint, within limit: Duration) async throws {
        try await tally(endpoint).reaches(count, within: limit)
    }

    private func tally(_ endpoint: Endpoint) -> Tally {
        tallies.withLock { tallies in
            let tally = tallies[endpoint] ?? Tally()
            tallies[endpoint] = tally
            return tally
        }
    }
}
