import Foundation
import TestFixtures

/// A program that runs beside the tests: a provider, or the browser. The scripts of `Setup` write one JSON object a line.
///
/// It lives for as long as its standard input is open, so it ends when the test process does, however that ends.
final class HelperProcess: Sendable {
    private let process = Process()
    private let lifeline = Pipe.exclusive()
    private let lines: AsyncStream<String>
    private let ended: AsyncStream<Void>

    /// Starts a Python script of `Setup`, in a virtual environment.
    convenience init(script: String, _ arguments: [String], in environment: String = "venv") throws {
        try self.init(
            Places.setup.appending(path: "python"),
            [Places.cache.appending(path: environment).path, Places.setup.appending(path: script).path] + arguments)
    }

    init(_ executable: URL, _ arguments: [String]) throws {
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        let (ended, end) = AsyncStream.makeStream(of: Void.self)
        self.lines = lines
        self.ended = ended
        let output = Pipe.exclusive()
        process.executableURL = executable
        process.arguments = arguments
        process.standardInput = lifeline
        process.standardOutput = output
        try process.run()
        Thread.detachNewThread {
            var pending = Data()
            while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                pending.append(data)
                while let newline = pending.firstIndex(of: UInt8(ascii: "\n")) {
                    line.yield(String(decoding: pending[..<newline], as: UTF8.self))
                    pending = Data(pending[(newline + 1)...])
                }
            }
            // Its output ends with it. The termination handler may be lost on a busy machine.
            line.finish()
            end.finish()
        }
    }

    /// The next thing that it reports.
    func report<Report: Decodable>(_ type: Report.Type = Report.self) async throws -> Report {
        let data = try await Data(line().utf8)
        if let failure = try? JSONDecoder().decode(Failure.self, from: data) { throw SetupFailure(failure.error) }
        return try JSONDecoder().decode(type, from: data)
    }

    /// The next line that it writes, within five minutes: nothing that it waits for takes longer.
    func line() async throws -> String {
        try await withThrowingTaskGroup(of: String.self) { [lines, process] group in
            defer { group.cancelAll() }
            let name = "\(process.arguments ?? [])"
            group.addTask {
                for await line in lines { return line }
                throw SetupFailure("\(name) ended before it reported anything: see its messages above.")
            }
            group.addTask {
                try await Task.sleep(for: .seconds(300))
                throw SetupFailure("\(name) has reported nothing for 300 s.")
            }
            while let line = try await group.next() { return line }
            throw CancellationError()
        }
    }

    /// Writes to its standard input.
    func write(_ text: String) { lifeline.fileHandleForWriting.write(Data(text.utf8)) }

    /// Runs `body`, and ends this program after a success or a failure.
    func beside<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            await end()
            return result
        } catch {
            await end()
            throw error
        }
    }

    /// Runs `body` while this program stands still.
    func paused<Result>(_ body: () async throws -> Result) async throws -> Result {
        kill(process.processIdentifier, SIGSTOP)
        defer { kill(process.processIdentifier, SIGCONT) }
        return try await body()
    }

    /// Ends it, and its children with it, and waits until it has.
    func end() async {
        try? lifeline.fileHandleForWriting.close()
        for await _ in ended {}
    }

    private struct Failure: Decodable {
        let error: String
    }
}
