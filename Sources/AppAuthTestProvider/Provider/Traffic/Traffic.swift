internal import FoundationEssentials
internal import HTTPTypes

/// The log, the holds and the faults through which every request of a service passes.
public struct Traffic: Sendable {
    let log: RequestLog
    let plan = FaultPlan()
    let holds = Holds()
    /// The minimum time of each response of an endpoint.
    var latency: [Endpoint: Duration] = [:]
    let clock: @Sendable () -> Date
    let observer: (@Sendable (LoggedRequest) -> Void)?

    init(
        keepsLog: Bool, clock: @escaping @Sendable () -> Date, observer: (@Sendable (LoggedRequest) -> Void)?
    ) {
        (log, self.clock, self.observer) = (RequestLog(keepsEntries: keepsLog), clock, observer)
    }

    /// Processes a request, unless a fault replaces its response.
    ///
    /// - Parameter act: Processes the request with its faults.
    func pass(
        _ request: Request, at endpoint: Endpoint, _ act: ([Fault.Effect]) async -> Reply
    ) async throws -> (Reply, Delivery) {
        var logged = LoggedRequest(request, at: endpoint)
        let index = log.add(logged)
        let faults = plan.take(endpoint, grantType: request.form?["grant_type"])
        try await holds.pass(endpoint, .request)
        if let latency = latency[endpoint] { try await Task.sleep(for: latency) }
        for case .delay(let duration) in faults { try await Task.sleep(for: duration) }

        var reply = if let substitute = Self.substitute(faults) { substitute } else { await act(faults) }
        reply.headers[.date] = clock().httpDate
        for case .editReply(let edit) in faults { edit(&reply) }
        try await holds.pass(endpoint, .response)
        logged.status = reply.status.code
        if let index { log.setStatus(reply.status.code, at: index) }
        observer?(logged)
        return (reply, Self.delivery(faults))
    }

    /// Returns the response of a fault that prevents processing.
    private static func substitute(_ faults: [Fault.Effect]) -> Reply? {
        for case .respond(let reply) in faults { return reply }
        return nil
    }

    private static func delivery(_ faults: [Fault.Effect]) -> Delivery {
        for case .deliver(let delivery) in faults { return delivery }
        return .whole
    }
}
