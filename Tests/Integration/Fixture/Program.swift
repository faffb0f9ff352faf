import Foundation

/// A program that runs to its end, and its output.
struct Program {
    var executable: URL
    var environment = ProcessInfo.processInfo.environment
    var folder = URL(filePath: FileManager.default.currentDirectoryPath)

    /// A program of the search path.
    static func named(_ name: String) throws -> Program {
        for folder in ProcessInfo.processInfo.environment["PATH", default: "/usr/bin:/bin"].split(separator: ":") {
            let candidate = "\(folder)/\(name)"
            if FileManager.default.isExecutableFile(atPath: candidate) {
                return Program(executable: URL(filePath: candidate))
            }
        }
        throw SetupFailure("\(name) is missing: Tests/run installs what the tests need.")
    }

    struct Outcome {
        /// The exit status; 128 and the signal's number where a signal ended the program.
        let status: Int32
        let output: String
        let errors: String

        /// The whole standard output as one JSON value.
        func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
            do {
                return try JSONDecoder().decode(type, from: Data(output.utf8))
            } catch {
                throw SetupFailure(
                    "Expected \(type) in JSON, found: \(output) and on standard error: \(errors) (\(error))")
            }
        }
    }

    /// Runs the program with nothing on its standard input. A test that is cancelled ends it.
    ///
    /// Its output goes to files rather than pipes: a browser that it leaves behind would hold a pipe open.
    func run(_ arguments: [String]) async throws -> Outcome {
        let workspace = try Workspace()
        let output = try workspace.write("", to: "output")
        let errors = try workspace.write("", to: "errors")
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = environment
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        let status = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
                process.terminationHandler = {
                    ended.resume(returning: $0.terminationStatus + ($0.terminationReason == .exit ? 0 : 128))
                }
                do { try process.run() } catch { ended.resume(throwing: error) }
            }
        } onCancel: {
            if process.isRunning { process.terminate() }
        }
        return Outcome(
            status: status,
            output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }
}
