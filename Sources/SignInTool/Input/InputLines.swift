internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// A line reader for standard input, on a thread of its own, that runs until the stream is terminated.
///
/// If the process is in the background of a terminal, nothing is read until the job is brought to the foreground. The
/// end of the input ends the lines normally.
final class InputLines: Sendable {
    private let input: StandardInput
    /// Whether the terminal shows and edits what the user types.
    private let isShown: Bool
    /// An event descriptor that becomes readable when the reading must end; -1 after it has ended.
    private let wakeUp: LockedValue<Int32>

    private init(_ input: StandardInput, isShown: Bool, wakeUp: Int32) {
        (self.input, self.isShown, self.wakeUp) = (input, isShown, LockedValue(wakeUp))
    }

    /// - Parameters:
    ///   - isShown: Whether the terminal shows and edits what the user types. Ctrl-D then ends the lines.
    ///   - match: Checks each line before it is delivered, without its line end. An error that it throws ends the stream.
    static func stream(
        from input: StandardInput, isShown: Bool = false, _ match: @escaping @Sendable (String) throws -> Void
    ) -> AsyncThrowingStream<String, any Error> {
        AsyncThrowingStream { continuation in
            let event = input.isOpen ? shims_event() : -1
            guard event >= 0 else { return continuation.finish() }
            let lines = InputLines(input, isShown: isShown, wakeUp: event)
            // This must come before the thread can end and before the stream can be terminated.
            if !isShown { input.takeBytes() }
            continuation.onTermination = { _ in lines.stop() }
            let thread = try? SystemThread(named: "standard-input", for: .redirect) {
                lines.read { line in
                    do {
                        try match(line)
                        continuation.yield(line)
                    } catch { continuation.finish(throwing: error) }
                }
                continuation.finish()
                lines.end(event)
            }
            if let thread { return thread.detach() }
            continuation.finish()
            lines.end(event)
        }
    }

    /// Ends the reading and restores the terminal.
    private func stop() {
        if !isShown { input.restore() }
        wakeUp.withLock { event in
            var one: UInt64 = 1
            if event >= 0 { write(event, &one, MemoryLayout.size(ofValue: one)) }
        }
    }

    private func end(_ event: Int32) {
        wakeUp.withLock { $0 = -1 }
        close(event)
    }

    private func read(_ take: (String) -> Void) {
        let event = wakeUp.withLock { $0 }
        let isTyped = input.isTerminal && !isShown
        var buffer = LineBuffer(isTyped: isTyped, limit: AuthorizationRequest.pasteLimit + 1)
        while true {
            // If the terminal is not ours, it is checked again after 250 ms: no event reports the change.
            let isOurs = isShown ? input.isOurs : input.adapt()
            var polled = [
                pollfd(fd: event, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isOurs ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&polled, 2, isOurs ? -1 : 250) < 0, errno == EINTR { continue }
            if polled[0].revents != 0 { return }
            guard polled[1].revents != 0 else { continue }
            let bytes = isShown ? input.bytes() : input.read()
            for line in buffer.add(bytes) { take(line) }
            // A terminal ends only by a hang-up. No bytes may mean that another job has it.
            let isOver = isTyped ? polled[1].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 : true
            if bytes.isEmpty, isOver {
                if let rest = buffer.end() { take(rest) }
                return
            }
        }
    }
}
