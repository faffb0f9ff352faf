import Foundation

/// The system's information on processes.
enum Processes {
    /// Returns the arguments of a process's children.
    static func arguments(childrenOf parent: pid_t) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
            .filter { self.parent(of: $0) == parent }
            .map { text("/proc/\($0)/cmdline").replacing("\0", with: " ") }
    }

    /// Returns a process and all its descendants.
    static func family(of process: pid_t) throws -> [pid_t] {
        let all = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
        var (family, next) = ([process], 0)
        while next < family.count {
            family += all.filter { parent(of: $0) == family[next] }
            next += 1
        }
        return family
    }

    /// Returns the values in the line of `/proc/PID/limits` that begins with a name.
    static func limit(_ name: String, of process: pid_t) -> [String]? {
        text("/proc/\(process)/limits").components(separatedBy: "\n").first { $0.hasPrefix(name) }
            .map { $0.dropFirst(name.count).split(separator: " ").map(String.init) }
    }

    /// Kills all processes with this variable in their environment, until there are none.
    static func kill(with variable: String) throws {
        while true {
            let found = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
                .filter { text("/proc/\($0)/environ").split(separator: "\0").contains { $0 == variable } }
            guard !found.isEmpty else { return }
            for id in found { Glibc.kill(id, SIGKILL) }
            usleep(1000)
        }
    }

    private static func parent(of process: pid_t) -> pid_t? {
        // The name in the middle may contain anything, so only the part after its parenthesis is parsed.
        text("/proc/\(process)/stat").components(separatedBy: ") ").last?.split(separator: " ").dropFirst().first
            .flatMap { pid_t($0) }
    }

    private static func text(_ path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}
