internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc
internal import TerminalShims

/// The pause of a watch while nothing is to be done.
///
/// A process that has run tasks is woken once a second by a timer of Dispatch, and has the memory of all that they have
/// used, the tokens among it. So the watch replaces itself by the same program, whose only thread waits, and which begins
/// with its tasks when something has changed, or the time has come.
struct WatchRest: Sendable {
    static let variable = "SIGN_IN_WATCH_REST"

    /// The pause with which this process has begun; nil for none.
    static let atStart: WatchRest? = {
        guard let text = getenv(Self.variable).map({ String(cString: $0) }) else { return nil }
        unsetenv(Self.variable)
        let numbers = text.split(separator: ",").compactMap { Int64($0) }
        guard numbers.count == 2, let changes = Int32(exactly: numbers[0]), StoreChanges.isOne(changes) else {
            return nil
        }
        _ = fcntl(changes, F_SETFD, FD_CLOEXEC)
        return WatchRest(changes: changes, end: numbers[1])
    }()

    /// The descriptor that reports changes. It stays open from one process to the next, so that none is missed.
    let changes: Int32
    /// The end, in milliseconds since boot.
    private let end: Int64

    private static var now: Int64 { Timestamp.current.sinceBoot.milliseconds }

    /// Replaces this process by one that rests. Returns if that is not possible.
    static func begin(for delay: Duration, changes: Int32) async {
        let rest = WatchRest(changes: changes, end: now + delay.milliseconds)
        await Interrupts.onMainThread { rest.replaceProcess() }
    }

    /// The file of this process. Another user may have put a different program at its path.
    static let program = "/proc/self/exe"

    private func replaceProcess() {
        var words = CommandLine.arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        setenv(Self.variable, "\(changes),\(end)", 1)
        process_replace(Self.program, &words, changes)
        unsetenv(Self.variable)
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
