import Foundation

/// Another machine, as far as a process can see: by namespaces of the kernel, which not every container may make.
enum Namespace {
    /// The machine has been on for so many seconds more, by `CLOCK_BOOTTIME` alone.
    static func later(by seconds: Int) -> [String] {
        // The clock is that of the children.
        unshare(["--time", "--boottime", String(seconds), "--fork"])
    }

    /// A folder cannot be written to, by root neither.
    static func readOnly(_ folder: String) -> [String] {
        let script = #"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#
        return unshare(["--mount"]) + ["sh", "-c", script, folder]
    }

    /// Whether processes can be started there.
    static func isPossible(_ words: [String]) async throws -> Bool {
        try await ChildProcess(words + ["true"], environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]).outcome()
            .status == 0
    }

    /// Who is not root is root in a namespace of its own.
    private static func unshare(_ options: [String]) -> [String] {
        ["unshare"] + (geteuid() == 0 ? [] : ["--map-root-user"]) + options
    }
}
