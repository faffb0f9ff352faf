import FoundationEssentials
import Glibc
import Testing

/// A folder of programs with the names of openers, for a `PATH` that has no others. For a process that does nothing else:
/// a file that was just written cannot be started while another thread's child still has it open.
final class OpenerFolder {
    let path: String
    private var recorders: [String: RecordingBrowser] = [:]

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/openers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        setenv("PATH", path, 1)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A program that fails at once.
    func addFailing(_ name: String, status: Int = 3) throws { try add(name, "exit \(status)") }

    /// A program that fails once a named pipe is opened.
    func addFailing(_ name: String, after gate: String) throws { try add(name, "read line < '\(gate)'; exit 3") }

    /// A program that writes down its `BROWSER`, its own name and its arguments.
    func addRecording(_ name: String) throws {
        let recorder = try RecordingBrowser()
        recorders[name] = recorder
        try add(name, "named=$BROWSER\nPATH=/usr/bin:/bin\nexec \(recorder.command) \"$named\" \(name) \"$@\"")
    }

    func record(of name: String) async throws -> RecordingBrowser.Record {
        try await #require(recorders[name]).record()
    }

    private func add(_ name: String, _ script: String) throws {
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: "\(path)/\(name)"))
        try #require(chmod("\(path)/\(name)", 0o700) == 0)
    }
}
