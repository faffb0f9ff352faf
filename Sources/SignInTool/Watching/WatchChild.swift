internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// A program that the watch has started.
final class WatchChild: Sendable {
    struct Failure: Error { let number: Int32 }

    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private let hasEnded = LockedValue(false)

    init(_ words: [String]) throws(Failure) {
        var copies = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var (process, input, output) = (pid_t(), Int32(), Int32())
        let error = shims_spawn_child(&copies, &input, &output, &process)
        guard error == 0 else { throw Failure(number: error) }
        (self.process, self.input, self.output) = (process, input, output)
    }

    func interrupt() { hasEnded.withLock { [process] in if !$0 { kill(process, SIGINT) } } }

    /// Writes the input, and waits on this thread until the program has ended.
    ///
    /// - Returns: Its output, at most 64 kB, and its exit status, or 128 and the signal.
    func outcome(of bytes: [UInt8]) -> (output: String, status: Int32) {
        // A program that does not read it is no failure. The pipe has room for all of it.
        _ = write(input, bytes, bytes.count)
        close(input)
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            if text.count < 64 << 10 { text += buffer.prefix(count) }
        }
        close(output)
        // No signal goes to another process that has the same number by then.
        var ended = siginfo_t()
        while waitid(P_PID, id_t(process), &ended, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return hasEnded.withLock { hasEnded in
            hasEnded = true
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            let signal = status & 0x7F
            return (String(decoding: text, as: UTF8.self), signal == 0 ? status >> 8 & 0xFF : 128 + signal)
        }
    }
}
