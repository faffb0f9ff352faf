internal import AppAuthCore
internal import CShims
internal import Glibc

/// Starts programs that are left to themselves.
enum BrowserLauncher {
    /// Starts the first command that can be started.
    static func launch(_ commands: [BrowserCommand], url: String) throws {
        var failures: [String] = []
        for command in commands where !command.name.isEmpty {
            let error = start(command.arguments(for: url))
            if error == 0 { return }
            failures.append("\(command.name) (\(SystemError.text(error)))")
        }
        let tried = failures.isEmpty ? "no program to start" : failures.joined(separator: ", ")
        throw AuthError(
            .browser, .browser, "expected a browser or a desktop's opener, found \(tried)", outcome: .notSent)
    }

    /// Starts a program; returns an error number, 0 if it runs.
    private static func start(_ arguments: [String]) -> Int32 {
        var copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var process: pid_t = 0
        let error = shims_spawn_detached(&copies, &process)
        if error == 0 { reap(process) }
        return error
    }

    /// Collects the status of a process when it ends, so that no zombie stays. Nobody waits for it: a browser that was
    /// started directly runs for hours.
    private static func reap(_ process: pid_t) {
        let thread = try? SystemThread(named: "browser-reaper") {
            while waitpid(process, nil, 0) < 0 && errno == EINTR {}
        }
        thread?.detach()
    }
}
