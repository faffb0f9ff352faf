internal import AppAuthConcurrency
internal import CShims
internal import Glibc
internal import JOSE

/// A query for the program that the desktop starts for the URLs of a scheme.
///
/// ``SignOut`` uses it to find out whether the browser can come back by a scheme.
public struct DesktopHandlers: Sendable {
    private let query: @Sendable (String) async -> String?

    /// Creates a query of the app's own.
    ///
    /// - Parameter query: Returns the desktop entry that handles a type such as `x-scheme-handler/fbauth2`; nil or an
    ///   empty string if there is none.
    public init(_ query: @escaping @Sendable (_ type: String) async -> String?) { self.query = query }

    /// Runs `xdg-mime query default`. If that program is missing or takes longer than five seconds, no scheme has a
    /// handler.
    public static let system = DesktopHandlers { type in
        // The shell keeps the complaints of xdg-mime out of the app's standard error.
        let command = ["sh", "-c", #"exec xdg-mime query default "$1" 2>/dev/null"#, "sh", type]
        return try? await withTimeout(.seconds(5), .configuration, "xdg-mime did not respond") {
            try await ProgramOutput.read(command)
        }
    }

    /// Returns whether the desktop has a program for a scheme.
    public func handles(scheme: String) async -> Bool {
        await query("x-scheme-handler/" + scheme).map { $0.contains { !$0.isWhitespace } } ?? false
    }
}

/// The standard output of a program.
private enum ProgramOutput {
    /// Runs a program to its end, without standard input. If the task is cancelled, the program and all its children
    /// are killed.
    ///
    /// - Returns: The first 4 KiB of the output; empty if the program cannot be started.
    static func read(_ arguments: [String]) async throws -> String {
        var copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var (process, input, output) = (pid_t(), Int32(), Int32())
        guard shims_spawn_child(&copies, &input, &output, &process) == 0 else { return "" }
        close(input)
        let (id, descriptor, life) = (process, output, LockedValue(Life.running))
        @Sendable func collect() {
            close(descriptor)
            // A cancellation needs the lock to kill a running program. So the exit is awaited first, and only the
            // reaping takes the lock.
            var end = siginfo_t()
            while waitid(P_PID, id_t(id), &end, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            life.withLock { life in
                while waitpid(id, nil, 0) < 0, errno == EINTR {}
                life = .collected
            }
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                do {
                    try SystemThread(named: "program-output", for: .browser) {
                        let text = readAll(descriptor) { life.withLock { $0 == .running } }
                        collect()
                        continuation.resume(returning: text)
                    }.detach()
                } catch {
                    kill(-id, SIGKILL)
                    collect()
                    continuation.resume(throwing: error)
                }
            }
        } onCancel: {
            // The program has a session of its own, and its process id stays reserved until it is reaped.
            life.withLock { life in
                guard life == .running else { return }
                life = .cancelled
                kill(-id, SIGKILL)
            }
        }
    }

    private enum Life { case running, cancelled, collected }

    /// Reads to the end, or until the condition is false: children of the program may keep its output open.
    private static func readAll(_ descriptor: Int32, while isOfUse: () -> Bool) -> String {
        var text: [UInt8] = []
        while isOfUse() {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 100) > 0 else { continue }
            let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
            }
            if bytes.isEmpty { return String(decoding: text.prefix(4096), as: UTF8.self) }
            if text.count < 4096 { text += bytes }
        }
        return ""
    }
}
