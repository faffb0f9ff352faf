import Foundation

/// What the system tells about processes.
enum Processes {
    /// The arguments of a process's children.
    static func arguments(childrenOf parent: pid_t) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
            .filter { self.parent(of: $0) == parent }
            .map { text("/proc/\($0)/cmdline").replacing("\0", with: " ") }
    }

    /// The line of `/proc/PID/limits` that begins with a name.
    static func limit(_ name: String, of process: pid_t) -> [String]? {
        text("/proc/\(process)/limits").components(separatedBy: "\n").first { $0.hasPrefix(name) }
            .map { $0.dropFirst(name.count).split(separator: " ").map(String.init) }
    }

    private static func parent(of process: pid_t) -> pid_t? {
        // The name in the middle may hold anything, so what follows its parenthesis counts.
        text("/proc/\(process)/stat").components(separatedBy: ") ").last?.split(separator: " ").dropFirst().first
            .flatMap { pid_t($0) }
    }

    private static func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
