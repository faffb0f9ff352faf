internal import AppAuthConcurrency

/// The requested faults, in a queue for each endpoint. Each request takes the first fault that is for it. Once a fault
/// was taken as often as requested, the next one follows.
final class FaultPlan: Sendable {
    struct Entry {
        let fault: Fault
        /// The `grant_type` of the requests that take the fault; nil for every request.
        let grantType: String?
        /// The remaining number of requests; nil for no limit.
        var times: Int?
    }

    private let rows = LockedValue<[Endpoint: [Entry]]>([:])

    func add(_ entry: Entry, at endpoint: Endpoint) {
        rows.withLock { $0[endpoint, default: []].append(entry) }
    }

    func clear(_ endpoint: Endpoint?) {
        rows.withLock { rows in
            if let endpoint { rows[endpoint] = nil } else { rows = [:] }
        }
    }

    func take(_ endpoint: Endpoint, grantType: String?) -> [Fault.Effect] {
        rows.withLock { rows in
            guard var row = rows[endpoint],
                let index = row.firstIndex(where: { $0.grantType == nil || $0.grantType == grantType })
            else { return [] }
            let entry = row[index]
            if let times = entry.times {
                row[index].times = times - 1
                if times <= 1 { row.remove(at: index) }
                rows[endpoint] = row
            }
            return entry.fault.effects
        }
    }
}
