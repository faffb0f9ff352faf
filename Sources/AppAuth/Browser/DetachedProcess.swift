internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// A program that runs independently, in a session of its own. It inherits only the environment.
enum DetachedProcess {
    /// Starts a program and observes it for a while.
    ///
    /// - Parameters:
    ///   - variables: Variables that are added to the environment of this process or replace its values.
    ///   - patience: How long the program is observed.
    ///   - learn: Learns the reason why it fails after that.
    /// - Returns: The reason why it could not be started or failed at once, or nil if it still runs or has exited
    ///   successfully.
    static func start(
        _ arguments: [String], variables: [String: String] = [:], patience: Duration,
        later learn: @escaping @Sendable (String) -> Void = { _ in }
    ) async -> String? {
        let milliseconds = Int32((patience / .milliseconds(1)).rounded())
        return await withCheckedContinuation { continuation in
            do {
                // Start the thread first: without a thread that collects it, the program would remain a zombie.
                try SystemThread(named: "browser-reaper", for: .browser) {
                    switch spawn(arguments, variables) {
                    case .success(let process):
                        watch(process, milliseconds, { continuation.resume(returning: $0) }, learn)
                    case .failure(let failure): continuation.resume(returning: SystemError.text(failure.number))
                    }
                }.detach()
            } catch {
                continuation.resume(returning: (error as? AuthError)?.message ?? "no thread could be started")
            }
        }
    }

    private struct Failure: Error { let number: Int32 }

    private static func spawn(_ arguments: [String], _ variables: [String: String]) -> Result<pid_t, Failure> {
        var words = arguments.map { strdup($0) } + [nil]
        var settings = environment(with: variables)
        defer { for copy in words + settings { free(copy) } }
        var process: pid_t = 0
        let error = shims_spawn_detached(&words, &settings, &process)
        return error == 0 ? .success(process) : .failure(Failure(number: error))
    }

    /// Returns a copy of the environment with some variables replaced. All others are passed on as bytes.
    private static func environment(with variables: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
        var copies = variables.map { strdup("\($0.key)=\($0.value)") }
        var next = shims_environment()
        while let entry = next.pointee {
            if !variables.keys.contains(where: { strncmp(entry, "\($0)=", $0.utf8.count + 1) == 0 }) {
                copies.append(strdup(entry))
            }
            next += 1
        }
        return copies + [nil]
    }

    /// Reports the result after a while. It collects the process later, when it ends, and no caller waits for that.
    private static func watch(
        _ process: pid_t, _ milliseconds: Int32, _ tell: (String?) -> Void, _ learn: (String) -> Void
    ) {
        let hasEnded = shims_wait_briefly(process, milliseconds) == 1
        if !hasEnded { tell(nil) }
        let failure = collect(process).flatMap(failure)
        if hasEnded { tell(failure) } else if let failure { learn(failure) }
    }

    /// Returns the status of an ended process, or nil if the app collects its children in another way.
    private static func collect(_ process: pid_t) -> Int32? {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            if errno != EINTR { return nil }
        }
        return status
    }

    /// Returns the failure that a status describes, in the encoding of all Linux systems, or nil for success.
    private static func failure(_ status: Int32) -> String? {
        let signal = status & 0x7F
        if signal != 0 { return "ended by signal \(signal)" }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "exit status \(code)"
    }
}
