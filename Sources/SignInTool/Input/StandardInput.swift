internal import Glibc
internal import JOSE
internal import TerminalShims

/// Standard input, and, if it is a terminal, its modes: changed while something may be pasted, and put back whatever ends
/// that.
final class StandardInput: Sendable {
    private struct State {
        var isWanted = false
        /// How the terminal was; nil while it is so.
        var former: termios?
    }

    private let state = LockedValue(State())
    /// A number that was free at the start will be another file's.
    let isOpen: Bool
    let isTerminal: Bool

    /// Has to come before any file is opened.
    init() {
        isOpen = fcntl(STDIN_FILENO, F_GETFD) >= 0
        isTerminal = isOpen && isatty(STDIN_FILENO) == 1
    }

    /// Whether what comes is for this process. A terminal belongs to one job at a time: whoever else reads it is stopped,
    /// or takes away what the person types for another.
    var isOurs: Bool { isOpen && (!isTerminal || tcgetpgrp(STDIN_FILENO) == getpgrp()) }

    /// Has a terminal hand over each byte, unechoed, from now on or as soon as it is ours.
    func takeBytes() {
        state.withLock { state in
            state.isWanted = true
            apply(&state)
        }
    }

    /// Puts the terminal back for good.
    func restore() {
        state.withLock { state in
            state.isWanted = false
            unapply(&state)
        }
    }

    /// Puts the terminal back for as long as the process is stopped.
    func whileRestored(_ stop: () -> Void) {
        state.withLock(unapply)
        stop()
        state.withLock(apply)
    }

    /// Does what ``takeBytes()`` promised if the terminal has become ours.
    ///
    /// - Returns: Whether what comes is for this process now.
    func adapt() -> Bool {
        state.withLock { state in
            apply(&state)
            return isOurs && (state.former != nil || !isTerminal)
        }
    }

    /// Reads what is there; from a terminal that is not ours, or is put back, nothing.
    func read() -> [UInt8] {
        // A pipe may make the reader wait where another process has been faster: not under the lock.
        guard isTerminal else { return bytes() }
        return state.withLock { state in
            apply(&state)
            return state.former != nil && isOurs ? bytes() : []
        }
    }

    private func bytes() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, Glibc.read(STDIN_FILENO, buffer.baseAddress, 4096))
        }
    }

    private func apply(_ state: inout State) {
        guard isTerminal, state.isWanted, state.former == nil, isOurs else { return }
        var former = termios()
        if terminal_hand_over_bytes(STDIN_FILENO, &former) { state.former = former }
    }

    private func unapply(_ state: inout State) {
        guard var former = state.former else { return }
        state.former = nil
        // From the background it would stop the process; the shell has put its own modes in place by then.
        guard isOurs else { return }
        // What was pasted too late must not be shown by the shell, as what the person has typed next.
        tcflush(STDIN_FILENO, TCIFLUSH)
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }
}
