import AppAuthConcurrency
import Foundation
import TestFixtures
import Testing

/// A user's home folder, in which the built program `seven-pass` is started.
struct SampleHome: Sendable {
    let path: String

    var session: String { path + "/.local/state/seven-pass/session.json" }
    /// The folder of the programs that were built with the tests.
    private static let products =
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path
    var program: String { Self.products + "/seven-pass" }

    /// The exit status and the output of a start.
    struct Outcome: Sendable, CustomStringConvertible {
        let status: CInt
        let output: String
        let errors: String

        var description: String { "status \(status)\noutput: \(output)\nerrors: \(errors)" }
        var outputLines: [String] { output.split(separator: "\n").map(String.init) }

        /// Expects one line on standard error that names the error.
        func fails(_ expected: CInt, _ words: String, sourceLocation: SourceLocation = #_sourceLocation) {
            let lines = errors.split(separator: "\n")
            #expect(status == expected && lines.count == 1, "\(self)", sourceLocation: sourceLocation)
            let isOurs = errors.hasPrefix("seven-pass: ") && errors.contains(words)
            #expect(isOurs, "\(self)", sourceLocation: sourceLocation)
        }
    }

    /// A start that has not ended.
    struct Start: Sendable {
        /// Nil once it has ended: another process may get its ID.
        fileprivate let running: LockedValue<pid_t?>
        /// Its standard output, as it comes.
        let lines: AsyncStream<String>
        fileprivate let end: AsyncStream<CInt>
        fileprivate let errors: String

        /// Waits for its end. Lines that were read before are not in the outcome.
        func outcome() async -> Outcome {
            var (output, status) = ("", CInt(-1))
            // A test that runs out of time leaves nothing behind.
            defer { terminate() }
            for await line in lines { output += line + "\n" }
            for await ended in end { status = ended }
            let errors = FileManager.default.contents(atPath: errors) ?? Data()
            return Outcome(status: status, output: output, errors: String(decoding: errors, as: UTF8.self))
        }

        func terminate() { running.withLock { if let id = $0 { kill(id, SIGTERM) } } }
    }

    func run(_ arguments: String..., with changes: [String: String] = [:]) async throws -> Outcome {
        try await start(arguments, changes).outcome()
    }

    /// Starts it with nothing of the test's own environment. There is no display, and the scripted browser is Alice's.
    func start(
        _ arguments: [String], _ changes: [String: String] = [:], input: Pipe? = nil, program: String? = nil
    ) throws -> Start {
        let environment = [
            "HOME": path, "PATH": "\(Self.products):/usr/bin:/bin", "LANG": "C.UTF-8", "BROWSER": "scripted-browser",
            "SCRIPTED_BROWSER_FORM": "username=alice%40example.com&password=looking-glass",
        ].merging(changes) { $1 }
        let (output, errors) = (Pipe.exclusive(), "\(path)/errors-\(UUID().uuidString)")
        let errorFile = try file(errors)
        let id = try Spawn.start(
            [program ?? self.program] + arguments, environment,
            input: input.map { .descriptor($0.fileHandleForReading.fileDescriptor) } ?? .empty,
            output: output.fileHandleForWriting.fileDescriptor, errors: errorFile.fileDescriptor)
        for file in [output.fileHandleForWriting, errorFile] { try file.close() }
        try input?.fileHandleForReading.close()
        let (running, (end, ended)) = (LockedValue<pid_t?>(id), AsyncStream.makeStream(of: CInt.self))
        Thread.detachNewThread {
            // Waits, but leaves the process until nothing can signal it.
            var information = siginfo_t()
            while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            let status = running.withLock { running in
                running = nil
                return Spawn.wait(id)
            }
            ended.yield(status)
            ended.finish()
        }
        return Start(
            running: running, lines: Self.lines(of: output.fileHandleForReading), end: end, errors: errors)
    }

    static func lines(of file: FileHandle) -> AsyncStream<String> {
        AsyncStream { continuation in
            Thread.detachNewThread {
                var rest = Data()
                while case let data = file.availableData, !data.isEmpty {
                    rest += data
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                        rest = Data(rest[rest.index(after: end)...])
                    }
                }
                continuation.finish()
            }
        }
    }

    private func file(_ path: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }
}

func withSampleHome(_ body: (SampleHome) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("seven-pass-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(SampleHome(path: folder.path))
}
