import Foundation
import SevenPass
import Testing

/// A question to an `xdg-mime` of the test's own, for a process that does nothing else.
enum HandlerQuestion {
    /// Asks, and cancels as soon as the program runs.
    static func cancelled(_ script: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handlers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pipe = folder.appending(path: "started").path
        try #require(mkfifo(pipe, 0o600) == 0)
        let program = folder.appending(path: "xdg-mime").path
        try Data("#!/bin/sh\n: > '\(pipe)'\n\(script)\n".utf8).write(to: URL(filePath: program))
        try #require(chmod(program, 0o700) == 0)
        setenv("PATH", folder.path + ":/usr/bin:/bin", 1)

        let asking = Task { await DesktopHandlers.system.handles(scheme: "x") }
        // Until it is opened for writing, too.
        close(open(pipe, O_RDONLY))
        let start = ContinuousClock.now
        asking.cancel()
        try #require(await asking.value == false)
        try #require(ContinuousClock.now - start < .seconds(4))
    }
}
