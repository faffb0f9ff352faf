import Foundation

/// A program for `$BROWSER` that opens nothing: it hands its URL to the test.
final class Opener: Sendable {
    /// The value for `$BROWSER`.
    let program: String
    private let workspace: Workspace
    private let fifo: FileHandle
    private let urls: AsyncStream<String>

    init() throws {
        workspace = try Workspace()
        let path = workspace.path("urls")
        // Opened for both on each side, so that neither waits for an end that is closed.
        guard mkfifo(path, 0o600) == 0, case let descriptor = open(path, O_RDWR | O_CLOEXEC), descriptor >= 0 else {
            throw SetupFailure("\(path) could not be made: \(String(cString: strerror(errno)))")
        }
        program = try workspace.write("#!/bin/sh\nprintf '%s\\n' \"$1\" 1<>'\(path)'\n", to: "browser")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program)
        let (urls, url) = AsyncStream.makeStream(of: String.self)
        let fifo = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        (self.urls, self.fifo) = (urls, fifo)
        Thread.detachNewThread {
            var pending = ""
            while true {
                pending += String(decoding: fifo.availableData, as: UTF8.self)
                while let newline = pending.firstIndex(of: "\n") {
                    let line = String(pending[..<newline])
                    guard !line.isEmpty else { return url.finish() }
                    url.yield(line)
                    pending = String(pending[pending.index(after: newline)...])
                }
            }
        }
    }

    deinit { close() }

    /// The next URL; nil if there will be none any more.
    func url() async -> String? {
        for await url in urls { return url }
        return nil
    }

    /// Ends the wait for a URL.
    func close() { try? fifo.write(contentsOf: Data("\n".utf8)) }
}
