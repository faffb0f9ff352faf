internal import AppAuthConcurrency
internal import Glibc
internal import JOSE
internal import TerminalShims

/// Standard input and, if it is a terminal, its modes. They are changed while the user may paste something, and always
/// restored.
final class StandardInput: Sendable {
    private struct State {
        var isWanted = false
        /// Whether the process is about to stop: no other thread may change the modes now.
        var isStopping = false
        /// The modes before the change; nil if they are unchanged.
        var former: termios?
    }

    private let state = LockedValue(State())
    /// Whether standard input was open at the start. If not, `Program` opens /dev/null in its place, which has no lines.
    let isOpen: Bool
    let isTerminal: Bool

    /// Creates the instance. Must be called before any file is opened, since that file would get the free number.
    init() {
        isOpen = fcntl(STDIN_FILENO, F_GETFD) >= 0
        isTerminal = isOpen && isatty(STDIN_FILENO) == 1
    }

    /// Whether input is for this process. A terminal belongs to one job at a time: a process of another job that reads
    /// it is stopped, or takes input that is meant for another.
    var isOurs: Bool { isOpen && (!isTerminal || tcgetpgrp(STDIN_FILENO) == getpgrp()) }

    /// Makes a terminal deliver each byte without echo, at once or as soon as it is ours.
    func takeBytes() {
        state.withLock { state in
            state.isWanted = true
            apply(&state)
        }
    }

    /// Restores the terminal for good.
    func restore() {
        state.withLock { state in
            state.isWanted = false
            unapply(&state)
        }
    }

    /// Restores the terminal for as long as the process is stopped.
    func whileRestored(_ stop: () -> Void) {
        state.withLock { state in
            state.isStopping = true
            unapply(&state)
        }
        stop()
        state.withLock { state in
            state.isStopping = false
            apply(&state)
        }
    }

    /// Applies ``takeBytes()`` if the terminal has become ours.
    ///
    /// - Returns: Whether input is for this process now.
    func adapt() -> Bool {
        state.withLock { state in
            apply(&state)
            return isOurs && (state.former != nil || !isTerminal)
        }
    }

    /// Returns the bytes that are available. Returns nothing if the terminal is not ours, or is restored.
    func read() -> [UInt8] {
        // Without the lock: the read blocks if another process has emptied the pipe first.
        guard isTerminal else { return bytes() }
        return state.withLock { state in
            apply(&state)
            return state.former != nil && isOurs ? bytes() : []
        }
    }

    /// Discards what was typed or pasted so far, if this is a terminal.
    ///
    /// The terminal holds a part of a long paste. The rest arrives as soon as there is room, or over a slow connection. So
    /// this waits until nothing has come for half a second.
    ///
    /// - Returns: Whether that was so within five seconds.
    func discardTyped() -> Bool {
        guard isTerminal else { return true }
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            discardQueued()
            var polled = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            if poll(&polled, 1, 500) == 0 {
                discardQueued()
                return true
            }
        }
        return false
    }

    /// Discards what the terminal holds now, without the rest of a long paste.
    func discardQueued() { tcflush(STDIN_FILENO, TCIFLUSH) }

    /// Shows a line on the terminal that standard input is.
    ///
    /// - Returns: Whether that was possible.
    func write(_ line: String) -> Bool {
        isTerminal && isOurs
            && Array(line.utf8).withUnsafeBytes { Glibc.write(STDIN_FILENO, $0.baseAddress, $0.count) > 0 }
    }

    /// Returns the bytes that are available, in the terminal's own mode.
    func bytes() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
            count = max(0, Glibc.read(STDIN_FILENO, buffer.baseAddress, 4096))
        }
    }

    private func apply(_ state: inout State) {
        guard isTerminal, state.isWanted, !state.isStopping, state.former == nil, isOurs else { return }
        var former = termios()
        if terminal_hand_over_bytes(STDIN_FILENO, &former) { state.former = former }
    }

    private func unapply(_ state: inout State) {
        guard var former = state.former else { return }
        state.former = nil
        // From the background this would stop the process. The shell has set its own modes by then.
        guard isOurs else { return }
        // The shell must not show text that was pasted too late, as if the user had typed it next.
        tcflush(STDIN_FILENO, TCIFLUSH)
        tcsetattr(STDIN_FILENO, TCSANOW, &former)
    }
}
