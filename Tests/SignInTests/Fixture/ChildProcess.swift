import Foundation
import TestFixtures

/// A program in a process of its own, and its output.
final class ChildProcess: Sendable {
    /// The output of a process so far, and its outcome.
    struct Progress: Sendable {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var outcome: Outcome?
    }

    struct Ended: Error, CustomStringConvertible {
        let outcome: Outcome
        var description: String { "the process ended before it wrote that: \(outcome)" }
    }

    let id: pid_t
    private let progress = Watched(Progress())
    /// Our ends of its output. They are open until the outcome is known.
    private let streams: [CInt]

    /// Starts a program with only these arguments and this environment.
    init(_ arguments: [String], environment: [String: String], input: Spawn.Input = .empty) throws {
        // Sockets instead of pipes, because they can be created so that no other child inherits them.
        let (output, errors) = (try Self.pair(), try Self.pair())
        defer { for end in [output.theirs, errors.theirs] { close(end) } }
        do {
            id = try Spawn.start(
                arguments, environment, input: input, output: output.theirs, errors: errors.theirs)
        } catch {
            for end in [output.ours, errors.ours] { close(end) }
            throw error
        }
        streams = [output.ours, errors.ours]
        let (id, progress, streams) = (id, progress, streams)
        Thread.detachNewThread {
            Self.read(output.ours, errors.ours) { bytes, isError in
                progress.change { if isError { $0.errors += bytes } else { $0.output += bytes } }
            }
            var ended = siginfo_t()
            while waitid(P_PID, id_t(id), &ended, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            progress.change { progress in
                var status: CInt = 0
                while waitpid(id, &status, 0) < 0, errno == EINTR {}
                progress.outcome = Outcome(status: status, output: progress.output, errors: progress.errors)
            }
            for stream in streams { close(stream) }
        }
    }

    /// Kills the process, and reads its output no further: one of its children may keep that open. A process that nobody
    /// reaps stops all exit tests.
    deinit {
        progress.change { [id, streams] progress in
            guard progress.outcome == nil else { return }
            kill(id, SIGKILL)
            for stream in streams { shutdown(stream, CInt(SHUT_RDWR)) }
        }
    }

    func send(_ signal: CInt) { progress.change { [id] in if $0.outcome == nil { kill(id, signal) } } }

    /// Waits until the process has ended and its output is closed. If the test is cancelled, the process is killed.
    func outcome() async throws -> Outcome {
        try await withTaskCancellationHandler {
            try await progress.wait { $0.outcome }
        } onCancel: {
            send(SIGKILL)
        }
    }

    /// Waits for a line on standard error.
    func line(_ isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await line(of: { $0.errors }, isWanted)
    }

    /// Waits for several lines of a kind on standard error.
    func lines(_ count: Int, _ isWanted: @escaping @Sendable (String) -> Bool) async throws {
        let found: Result<Void, Ended> = try await progress.wait { progress in
            let lines = String(decoding: progress.errors, as: UTF8.self).components(separatedBy: "\n").dropLast()
            if lines.filter(isWanted).count >= count { return .success(()) }
            return progress.outcome.map { .failure(Ended(outcome: $0)) }
        }
        try found.get()
    }

    /// Waits for a line on standard output.
    func outputLine(_ isWanted: @escaping @Sendable (String) -> Bool) async throws -> String {
        try await line(of: { $0.output }, isWanted)
    }

    private func line(
        of stream: @escaping @Sendable (Progress) -> [UInt8], _ isWanted: @escaping @Sendable (String) -> Bool
    ) async throws -> String {
        let found: Result<String, Ended> = try await progress.wait { progress in
            let lines = String(decoding: stream(progress), as: UTF8.self).components(separatedBy: "\n").dropLast()
            if let line = lines.first(where: isWanted) { return .success(line) }
            return progress.outcome.map { .failure(Ended(outcome: $0)) }
        }
        return try found.get()
    }

    /// Returns the two ends of a socket that no other child inherits.
    static func pair() throws -> (ours: CInt, theirs: CInt) {
        var ends: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return (ends[0], ends[1])
    }

    /// Reads both streams to their ends.
    private static func read(
        _ output: CInt, _ errors: CInt, _ take: (_ bytes: [UInt8], _ isError: Bool) -> Void
    ) {
        var open = [output, errors]
        while open.contains(where: { $0 >= 0 }) {
            var entries = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&entries, 2, -1) > 0 else { continue }
            for index in 0..<2 where entries[index].revents != 0 {
                let bytes = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                    count = max(0, recv(open[index], buffer.baseAddress, 65536, 0))
                }
                if bytes.isEmpty { open[index] = -1 } else { take(bytes, index == 1) }
            }
        }
    }
}

extension ChildProcess {
    /// Whether it has opened the lock of a session, after it has read that.
    var hasOpenedLock: Bool {
        let folder = "/proc/\(id)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)"))?.hasSuffix(".lock") == true
        }
    }
}
