internal import AppAuth
internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// Reads standard input line by line, on a thread of its own, for as long as somebody wants the lines.
///
/// A terminal in the background is left alone until the job is brought to the foreground. The end of the input ends the
/// reading, and nothing else.
final class InputLines: Sendable {
    private let input: StandardInput
    /// Readable when the reading has to end; -1 when it has ended.
    private let wakeUp: LockedValue<Int32>

    private init(_ input: StandardInput, wakeUp: Int32) { (self.input, self.wakeUp) = (input, LockedValue(wakeUp)) }

    /// - Parameter match: Looks at each line first, without its end. What it throws ends the stream.
    static func stream(
        from input: StandardInput, _ match: @escaping @Sendable (String) throws -> Void
    ) -> AsyncThrowingStream<String, any Error> {
        AsyncThrowingStream { continuation in
            let event = input.isOpen ? shims_event() : -1
            guard event >= 0 else { return continuation.finish() }
            let lines = InputLines(input, wakeUp: event)
            // Before the thread can end, and before anybody can want that.
            input.takeBytes()
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

    /// From here on nothing is read, and the terminal is as it was.
    private func stop() {
        input.restore()
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
        var buffer = LineBuffer(isTyped: input.isTerminal, limit: AuthorizationRequest.pasteLimit + 1)
        while true {
            // One that is not ours is looked at again later; nothing tells when it has become so.
            let isOurs = input.adapt()
            var polled = [
                pollfd(fd: event, events: Int16(POLLIN), revents: 0),
                pollfd(fd: isOurs ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&polled, 2, isOurs ? -1 : 250) < 0, errno == EINTR { continue }
            if polled[0].revents != 0 { return }
            guard polled[1].revents != 0 else { continue }
            let bytes = input.read()
            for line in buffer.add(bytes) { take(line) }
            // A terminal ends by a hang-up alone; that it has nothing may be since another job has it.
            let isOver = input.isTerminal ? polled[1].revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 : true
            if bytes.isEmpty, isOver {
                if let rest = buffer.end() { take(rest) }
                return
            }
        }
    }
}
