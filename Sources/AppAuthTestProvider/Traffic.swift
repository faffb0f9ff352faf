internal import FoundationEssentials
internal import HTTPTypes

/// What every request of a service passes on its way in and out: the log, the holds and the faults.
package struct Traffic: Sendable {
    let log: RequestLog
    let plan = FaultPlan()
    let holds = Holds()
    /// The time that each response of an endpoint takes at least.
    var latency: [Endpoint: Duration] = [:]
    let clock: @Sendable () -> Date
    let observer: (@Sendable (LoggedRequest) -> Void)?

    init(
        keepsLog: Bool, clock: @escaping @Sendable () -> Date, observer: (@Sendable (LoggedRequest) -> Void)?
    ) {
        (log, self.clock, self.observer) = (RequestLog(keepsEntries: keepsLog), clock, observer)
    }

    /// Has a request answered, unless a fault answers for it.
    ///
    /// - Parameter act: Gets the faults of this request.
    func pass(
        _ request: Request, at endpoint: Endpoint, _ act: ([Fault]) -> Reply
    ) async throws -> (Reply, Delivery) {
        var logged = LoggedRequest(request, at: endpoint)
        let index = log.add(logged)
        let faults = plan.take(endpoint)
        try await holds.pass(endpoint, .request)
        if let latency = latency[endpoint] { try await Task.sleep(for: latency) }
        for case .delay(let duration) in faults { try await Task.sleep(for: duration) }

        var reply = Self.substitute(faults) ?? act(faults)
        reply.headers[.date] = clock().httpDate
        for fault in faults { fault.change(&reply) }
        try await holds.pass(endpoint, .response)
        let delivery = faults.lazy.compactMap(\.delivery).first ?? .whole
        logged.status = reply.status.code
        if let index { log.setStatus(reply.status.code, at: index) }
        observer?(logged)
        return (reply, delivery)
    }

    /// The response of a fault that keeps the service from acting.
    private static func substitute(_ faults: [Fault]) -> Reply? {
        for case .respond(let reply) in faults { return reply }
        return nil
    }
}
