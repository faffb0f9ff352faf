import Foundation

/// The prefixes of a command line that simulate another machine, with kernel namespaces, which not every container may
/// create.
enum Namespace {
    /// Advances only `CLOCK_BOOTTIME` by these seconds.
    static func later(by seconds: Int) -> [String] {
        // The clock applies to the children.
        unshare(["--time", "--boottime", String(seconds), "--fork"])
    }

    /// Makes a folder read-only, even for root.
    static func readOnly(_ folder: String) -> [String] {
        let script = #"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@""#
        return unshare(["--mount"]) + ["sh", "-c", script, folder]
    }

    /// Shows a program only its own processes and those of its children. They end with it.
    static var ownProcesses: [String] { unshare(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]) }

    /// Puts a file in the place of another one.
    static func replacing(_ path: String, by file: String) -> [String] {
        unshare(["--mount"]) + ["sh", "-c", #"mount --bind "$0" "$1" && shift && exec "$@""#, file, path]
    }

    /// Puts a socket where systemd has the user's session bus.
    static func sessionBus(at socket: String) -> [String] {
        let script = #"""
            bus=/run/user/$(id -u)/bus
            mount -t tmpfs none /run && mkdir -p "${bus%/*}" && touch "$bus" && mount --bind "$0" "$bus" && exec "$@"
            """#
        return unshare(["--mount"]) + ["sh", "-c", script, socket]
    }

    /// The system allows the user no watcher of files (inotify).
    static let withoutWatchers =
        ["unshare", "--user", "--map-root-user", "sh", "-c"]
        + [#"echo 0 >/proc/sys/user/max_inotify_instances && exec "$@""#, "sh"]

    /// Returns whether processes can be started with this prefix.
    static func isPossible(_ words: [String]) async throws -> Bool {
        try await ChildProcess(words + ["true"], environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]).outcome()
            .status == 0
    }

    /// A user other than root becomes root in a namespace of its own.
    private static func unshare(_ options: [String]) -> [String] {
        ["unshare"] + (geteuid() == 0 ? [] : ["--map-root-user"]) + options
    }
}
