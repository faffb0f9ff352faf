internal import JOSE

/// The requested faults, in a queue for each endpoint. Each request takes the first fault. Once a fault was taken as
/// often as requested, the next one follows.
final class FaultPlan: Sendable {
    private struct Entry {
        let fault: Fault
        /// The remaining number of requests; nil for no limit.
        var times: Int?
    }

    private let rows = LockedValue<[Endpoint: [Entry]]>([:])

    func add(_ fault: Fault, at endpoint: Endpoint, times: Int?) {
        rows.withLock { $0[endpoint, default: []].append(Entry(fault: fault, times: times)) }
    }

    func clear(_ endpoint: Endpoint?) {
        rows.withLock { rows in
            if let endpoint { rows[endpoint] = nil } else { rows = [:] }
        }
    }

    func take(_ endpoint: Endpoint) -> [Fault] {
        rows.withLock { rows in
            guard var row = rows[endpoint], var entry = row.first else { return [] }
            if let times = entry.times {
                entry.times = times - 1
                row[0] = entry
                if times <= 1 { row.removeFirst() }
                rows[endpoint] = row
            }
            return entry.fault.flattened
        }
    }
}
