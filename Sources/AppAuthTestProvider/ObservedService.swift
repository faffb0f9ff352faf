/// A service whose requests tests can see, count and park, and that produces faults on request.
package protocol ObservedService: Sendable {
    var traffic: Traffic { get }
}

// MARK: What came in

extension ObservedService {
    /// Every request so far, in the order of arrival.
    package var log: [LoggedRequest] { traffic.log.all }

    package func log(_ endpoint: Endpoint) -> [LoggedRequest] { log.filter { $0.endpoint == endpoint } }

    package func count(_ endpoint: Endpoint) -> Int { traffic.log.count(endpoint) }

    /// Waits until an endpoint has received this many requests in all.
    package func requests(_ count: Int, at endpoint: Endpoint) async throws {
        try await traffic.log.reaches(count, endpoint)
    }
}

// MARK: What goes wrong

extension ObservedService {
    /// Requests a fault. The faults of one endpoint are in a queue: each request takes the first, until it was taken
    /// `times` times.
    ///
    /// - Parameter times: The number of requests; nil for no limit.
    package func fault(_ fault: Fault, at endpoint: Endpoint, times: Int? = 1) {
        traffic.plan.add(fault, at: endpoint, times: times)
    }

    /// Removes the faults of an endpoint, or all of them.
    package func clearFaults(at endpoint: Endpoint? = nil) { traffic.plan.clear(endpoint) }

    /// Parks the requests of an endpoint from now on, until they are released.
    package func hold(_ endpoint: Endpoint, before point: Hold.Point = .response) -> Hold {
        let hold = Hold(point)
        traffic.holds.add(hold, at: endpoint)
        return hold
    }
}
