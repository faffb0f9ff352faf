internal import AppAuthProtocol
internal import CShims
internal import FoundationEssentials
internal import Glibc

/// A program that runs independently, in a session of its own. It inherits only the environment.
enum DetachedProcess {
    /// Starts a program and observes it for a while.
    ///
    /// - Parameters:
    ///   - variables: Variables that are added to the environment of this process or replace its values.
    ///   - patience: How long the program is observed.
    /// - Returns: The reason why it could not be started or failed at once, or nil if it still runs or has exited
    ///   successfully.
    static func start(_ arguments: [String], variables: [String: String] = [:], patience: Duration) async -> String? {
        let environment = variables.isEmpty ? [] : environment(with: variables)
        let milliseconds = Int32((patience / .milliseconds(1)).rounded())
        return await withCheckedContinuation { continuation in
            do {
                // Start the thread first: without a thread that collects it, the program would remain a zombie.
                try SystemThread(named: "browser-reaper", for: .browser) {
                    switch spawn(arguments, environment) {
                    case .success(let process): watch(process, milliseconds) { continuation.resume(returning: $0) }
                    case .failure(let failure): continuation.resume(returning: SystemError.text(failure.number))
                    }
                }.detach()
            } catch {
                continuation.resume(returning: (error as? AuthError)?.message ?? "no thread could be started")
            }
        }
    }

    private struct Failure: Error { let number: Int32 }

    private static func spawn(_ arguments: [String], _ environment: [String]) -> Result<pid_t, Failure> {
        var words = copies(arguments)
        var settings = environment.isEmpty ? [] : copies(environment)
        defer { for copy in words + settings { free(copy) } }
        var process: pid_t = 0
        let error =
            settings.isEmpty
            ? shims_spawn_detached(&words, nil, &process) : shims_spawn_detached(&words, &settings, &process)
        return error == 0 ? .success(process) : .failure(Failure(number: error))
    }

    private static func environment(with variables: [String: String]) -> [String] {
        ProcessInfo.processInfo.environment.merging(variables) { $1 }.map { "\($0.key)=\($0.value)" }
    }

    private static func copies(_ texts: [String]) -> [UnsafeMutablePointer<CChar>?] { texts.map { strdup($0) } + [nil] }

    /// Reports the result after a while. It collects the process later, when it ends, and no caller waits for that.
    private static func watch(_ process: pid_t, _ milliseconds: Int32, _ tell: (String?) -> Void) {
        let hasEnded = shims_wait_briefly(process, milliseconds) == 1
        if !hasEnded { tell(nil) }
        let status = collect(process)
        if hasEnded { tell(status.flatMap(failure)) }
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
