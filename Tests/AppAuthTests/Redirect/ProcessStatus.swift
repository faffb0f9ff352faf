import FoundationEssentials
import Glibc

/// What the kernel knows of this process (proc(5)). For tests that have a process of their own.
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
    static var listenerThreads: [String] {
        entries("/proc/self/task").map { text("/proc/self/task/\($0)/comm") }.filter { $0.hasPrefix("redirect-") }
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
