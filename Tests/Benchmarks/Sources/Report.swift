internal import Glibc

/// What a command found, as one line of JSON.
struct Report {
    private var members: [String]

    init(n: Int, _ spent: Spent) {
        members = []
        add("n", n)
        add("wall_s", spent.wall)
        add("cpu_s", spent.cpu)
    }

    mutating func add(_ name: String, _ value: Int) { members.append("\"\(name)\":\(value)") }

    /// Adds seconds, to the microsecond.
    mutating func add(_ name: String, _ value: Double) {
        members.append("\"\(name)\":\((value * 1e6).rounded() / 1e6)")
    }

    var line: String { "{\(members.joined(separator: ","))}" }
}

/// Seconds by the clock on the wall, and seconds of CPU of all threads.
struct Spent {
    var wall = 0.0
    var cpu = 0.0

    /// What has been spent since the system, and the process, began.
    static var now: Spent { Spent(wall: seconds(CLOCK_MONOTONIC), cpu: seconds(CLOCK_PROCESS_CPUTIME_ID)) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func - (left: Spent, right: Spent) -> Spent {
        Spent(wall: left.wall - right.wall, cpu: left.cpu - right.cpu)
    }

    static func += (left: inout Spent, right: Spent) {
        left = Spent(wall: left.wall + right.wall, cpu: left.cpu + right.cpu)
    }
}

/// Why a command cannot do its work.
struct Failure: Error {
    let message: String
    let isUsage: Bool

    init(_ message: String) { (self.message, isUsage) = (message, false) }
    init(usage message: String) { (self.message, isUsage) = (message, true) }
}
