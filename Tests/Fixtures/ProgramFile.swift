import Foundation

/// A file that a test makes and then starts.
///
/// Another process writes it: while this one has it open for writing, a process that another test starts at the same
/// time inherits the descriptor until it has started its program, and the kernel refuses to start the file (ETXTBSY).
package enum ProgramFile {
    /// Copies a program.
    package static func copy(_ program: String, to path: String) async throws {
        try await run(["cp", program, path])
    }

    /// Writes an executable script.
    package static func write(_ script: String, to path: String) async throws {
        try await run(["sh", "-c", #"printf %s "$1" > "$2" && chmod 700 "$2""#, "sh", script, path])
    }

    private static func run(_ words: [String]) async throws {
        let status = await Spawn.end(
            of: try Spawn.start(
                words, ProcessInfo.processInfo.environment, output: STDOUT_FILENO, errors: STDERR_FILENO))
        guard status == 0 else { throw Failure(description: "\(words[0]) ended with \(status)") }
    }

    struct Failure: Error, CustomStringConvertible { let description: String }
}
