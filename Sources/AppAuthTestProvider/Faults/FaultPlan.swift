internal import JOSE

/// The faults that were asked for. Those of an endpoint stand in a row: each request takes the first, which makes way
/// for the next one when it has been taken as often as it was asked for.
final class FaultPlan: Sendable {
    private struct Entry {
        let fault: Fault
        /// nil for always.
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
