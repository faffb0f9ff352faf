import Foundation
import SevenPass
import Testing

/// A question to an `xdg-mime` of the test's own, for a process that does nothing else.
enum HandlerQuestion {
    /// Asks, and cancels as soon as the script has come to `STARTED`.
    static func cancelled(_ script: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handlers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pipe = folder.appending(path: "started").path
        try #require(mkfifo(pipe, 0o600) == 0)
        let program = folder.appending(path: "xdg-mime").path
        try Data("#!/bin/sh\n\(script.replacing("STARTED", with: ": > '\(pipe)'"))\n".utf8).write(
            to: URL(filePath: program))
        try #require(chmod(program, 0o700) == 0)
        setenv("PATH", folder.path + ":/usr/bin:/bin", 1)

        let asking = Task { await DesktopHandlers.system.handles(scheme: "x") }
        // Until it is opened for writing, too.
        close(open(pipe, O_RDONLY))
        // And the library waits for its end: a second is far more than it needs to get there.
        let start = ContinuousClock.now
        while !isWaitingForEnd, ContinuousClock.now - start < .seconds(1) { await Task.yield() }
        asking.cancel()
        try #require(await asking.value == false)
        try #require(ContinuousClock.now - start < .seconds(4))
    }

    /// Whether a thread of this process waits in the kernel for a child (proc(5)).
    private static var isWaitingForEnd: Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains {
            FileManager.default.contents(atPath: "/proc/self/task/\($0)/wchan") == Data("do_wait".utf8)
        }
    }
}
