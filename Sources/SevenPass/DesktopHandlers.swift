internal import AppAuth
internal import CShims
internal import Glibc
internal import JOSE

/// Which program the desktop starts for the URLs of a scheme.
public struct DesktopHandlers: Sendable {
    private let query: @Sendable (String) async -> String?

    /// Asks in a way of the app's own.
    ///
    /// - Parameter query: Returns the desktop entry that handles a type such as `x-scheme-handler/fbauth2`; nil or an
    ///   empty text if there is none.
    public init(_ query: @escaping @Sendable (_ type: String) async -> String?) { self.query = query }

    /// Asks `xdg-mime query default`. Where there is no such program, or it does not answer within five seconds, nobody
    /// handles anything.
    public static let system = DesktopHandlers { type in
        // A shell between, since what xdg-mime complains about is nothing for the app's standard error.
        let command = ["sh", "-c", #"exec xdg-mime query default "$1" 2>/dev/null"#, "sh", type]
        return try? await withTimeout(.seconds(5), .configuration, "xdg-mime did not answer") {
            try await ProgramOutput.read(command)
        }
    }

    /// Whether the desktop has a program for a scheme.
    public func handles(scheme: String) async -> Bool {
        await query("x-scheme-handler/" + scheme).map { $0.contains { !$0.isWhitespace } } ?? false
    }
}

/// What a program writes to its standard output.
private enum ProgramOutput {
    /// Runs a program to its end, without standard input. A task that is cancelled ends it, and all that it started.
    ///
    /// - Returns: The first 4 KiB.
    static func read(_ arguments: [String]) async throws -> String {
        var copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var (process, input, output) = (pid_t(), Int32(), Int32())
        guard shims_spawn_child(&copies, &input, &output, &process) == 0 else { return "" }
        close(input)
        let (id, descriptor, life) = (process, output, LockedValue(Life.running))
        @Sendable func collect() {
            close(descriptor)
            // The cancellation needs the lock to end a program that runs on: only one that has ended is collected under it.
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
            // It has a session of its own, and its number is its own until it is collected.
            life.withLock { life in
                guard life == .running else { return }
                life = .cancelled
                kill(-id, SIGKILL)
            }
        }
    }

    private enum Life { case running, cancelled, collected }

    /// Reads to the end, or until it is of no use any more: what the program has started may hold its output open.
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
