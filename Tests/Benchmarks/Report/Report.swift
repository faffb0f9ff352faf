internal import Glibc

/// The results of a command, as one line of JSON.
package struct Report {
    private var members: [String]

    package init(n: Int, _ spent: Spent) {
        members = []
        add("n", n)
        add("wall_s", spent.wall)
        add("cpu_s", spent.cpu)
    }

    package mutating func add(_ name: String, _ value: Int) { members.append("\"\(name)\":\(value)") }

    /// Adds seconds, to the microsecond.
    package mutating func add(_ name: String, _ value: Double) {
        members.append("\"\(name)\":\((value * 1e6).rounded() / 1e6)")
    }

    package var line: String { "{\(members.joined(separator: ","))}" }
}

/// Seconds by the clock on the wall, and seconds of CPU of all threads.
package struct Spent {
    package var wall = 0.0
    package var cpu = 0.0

    package init() {}

    private init(wall: Double, cpu: Double) { (self.wall, self.cpu) = (wall, cpu) }

    /// The wall-clock and CPU time so far.
    package static var now: Spent { Spent(wall: seconds(CLOCK_MONOTONIC), cpu: seconds(CLOCK_PROCESS_CPUTIME_ID)) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    package static func - (left: Spent, right: Spent) -> Spent {
        Spent(wall: left.wall - right.wall, cpu: left.cpu - right.cpu)
    }

    package static func += (left: inout Spent, right: Spent) {
        left = Spent(wall: left.wall + right.wall, cpu: left.cpu + right.cpu)
    }
}

/// Why a command cannot do its work.
package struct Failure: Error {
    package let message: String
    package let isUsage: Bool

    package init(_ message: String) { (self.message, isUsage) = (message, false) }
    package init(usage message: String) { (self.message, isUsage) = (message, true) }
}

/// The output and the exit status of these programs: 0 done, 1 something is missing or wrong, 2 wrong usage.
@MainActor package func report(as name: String, _ run: @MainActor () async throws -> Report) async {
    do {
        print(try await run().line)
    } catch {
        let failure = error as? Failure ?? Failure("\(error)")
        fflush(nil)
        let line = Array("\(name): \(failure.message)\n".utf8)
        _ = line.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        exit(failure.isUsage ? 2 : 1)
    }
}

/// The file's bytes, read without Foundation, which would count in the measurement.
package func contents(of path: String) throws -> [UInt8] {
    guard let file = fopen(path, "re") else { throw Failure("\(path) cannot be read") }
    defer { fclose(file) }
    var (bytes, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 65536))
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        guard count > 0 else { break }
        bytes += buffer[..<count]
    }
    guard ferror(file) == 0 else { throw Failure("\(path) cannot be read") }
    return bytes
}

/// Of an argument.
package func duration(_ text: String) throws -> Duration {
    guard let seconds = Double(text), seconds > 0, seconds < 86_400 else {
        throw Failure(usage: "expected a number of seconds, found '\(text)'")
    }
    return .milliseconds(Int64(seconds * 1000))
}

/// Of an argument.
package func count(_ text: String) throws -> Int {
    guard let count = Int(text), count > 0, count <= 10_000_000 else {
        throw Failure(usage: "expected a number from 1, found '\(text)'")
    }
    return count
}
