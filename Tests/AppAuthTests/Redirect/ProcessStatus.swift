import FoundationEssentials
import Glibc

/// The kernel's status of this process (proc(5)). For tests that have a process of their own.
enum ProcessStatus {
    /// Resident memory in KiB.
    static var residentMemory: Int { number("VmRSS:") }

    /// How many descriptors are of the kinds that listeners open.
    static var listenerDescriptors: Int {
        let targets = entries("/proc/self/fd").compactMap { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        }
        return targets.filter { $0.hasPrefix("socket:") || $0 == "anon_inode:[eventfd]" }.count
    }

    /// The names of the threads that listeners have started.
    static var listenerThreads: [String] { listenerTasks.map { text("/proc/self/task/\($0)/comm") } }

    /// Their numbers.
    static var listenerTasks: [String] {
        entries("/proc/self/task").filter { text("/proc/self/task/\($0)/comm").hasPrefix("redirect-") }
    }

    /// How long a thread has run, by its open schedstat.
    static func nanoseconds(_ schedstat: Int32) -> Int {
        var buffer = [UInt8](repeating: 0, count: 128)
        let count = pread(schedstat, &buffer, buffer.count, 0)
        return Int(String(decoding: buffer.prefix(max(0, count)).prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
            ?? 0
    }

    private static func number(_ name: String) -> Int {
        let line = text("/proc/self/status").split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
    }

    private static func entries(_ path: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    }

    private static func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
