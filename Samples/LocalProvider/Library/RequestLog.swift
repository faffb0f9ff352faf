internal import JOSE

/// The requests so far, and how many came to each endpoint.
final class RequestLog: Sendable {
    private let entries = Guarded<[LoggedRequest]>([])
    private let tallies: [Endpoint: Tally] = Dictionary(
        uniqueKeysWithValues: Endpoint.allCases.map { ($0, Tally()) })

    var all: [LoggedRequest] { entries.withLock { $0 } }

    func add(_ request: LoggedRequest) -> Int {
        let index = entries.withLock { entries in
            entries.append(request)
            return entries.count - 1
        }
        tallies[request.endpoint]?.add()
        return index
    }

    func setStatus(_ status: Int, at index: Int) -> LoggedRequest {
        entries.withLock { entries in
            entries[index].status = status
            return entries[index]
        }
    }

    func count(_ endpoint: Endpoint) -> Int { tallies[endpoint]?.count ?? 0 }

    /// Returns once the endpoint has had so many requests in all.
    func reaches(_ count: Int, _ endpoint: Endpoint) async throws { try await tallies[endpoint]?.reaches(count) }
}
