/// A service whose requests tests can see, count and hold, and that produces faults on request.
public protocol ObservedService: Sendable {
    /// The service's requests and faults.
    var traffic: Traffic { get }
}

// MARK: What came in

extension ObservedService {
    /// Every request so far, in the order of arrival.
    public var log: [LoggedRequest] { traffic.log.all }

    /// Returns every request of an endpoint so far, in the order of arrival.
    public func log(_ endpoint: LocalProvider.Endpoint) -> [LoggedRequest] { log.filter { $0.endpoint == endpoint } }

    /// Returns the number of requests that an endpoint has received.
    public func count(_ endpoint: LocalProvider.Endpoint) -> Int { traffic.log.count(endpoint) }

    /// Waits until an endpoint has received this many requests in all.
    ///
    /// - Throws: An error with the number of requests that came within the limit; `CancellationError`.
    public func requests(
        _ count: Int, at endpoint: LocalProvider.Endpoint, within limit: Duration = .seconds(60)
    ) async throws {
        try await traffic.log.reaches(count, endpoint, within: limit)
    }
}

// MARK: What goes wrong

extension ObservedService {
    /// Requests a fault. The faults of one endpoint are in a queue: each request takes the first that is for it, until
    /// it was taken `times` times.
    ///
    /// - Parameters:
    ///   - grantType: The `grant_type` of the requests that take the fault, for example `refresh_token`; nil for every
    ///     request.
    ///   - times: The number of requests; nil for no limit.
    public func fault(
        _ fault: LocalProvider.Fault, at endpoint: LocalProvider.Endpoint, grantType: String? = nil, times: Int? = 1
    ) {
        traffic.plan.add(.init(fault: fault, grantType: grantType, times: times), at: endpoint)
    }

    /// Removes the faults of an endpoint, or all of them.
    public func clearFaults(at endpoint: LocalProvider.Endpoint? = nil) { traffic.plan.clear(endpoint) }

    /// Parks the requests of an endpoint from now on, until they are released.
    public func hold(
        _ endpoint: LocalProvider.Endpoint, before point: LocalProvider.Hold.Point = .response
    ) -> LocalProvider.Hold {
        let hold = LocalProvider.Hold(point)
        traffic.holds.add(hold, at: endpoint)
        return hold
    }
}
