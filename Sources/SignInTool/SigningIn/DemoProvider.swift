internal import AppAuth
internal import CShims
internal import FoundationEssentials
internal import Glibc

/// A process of the executable `local-provider` in the same folder.
///
/// The process ends when its standard input does, so it also ends if the parent process is killed.
struct DemoProvider: Sendable {
    private let process: pid_t
    private let output: Int32

    /// Starts the process.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the program is missing.
    init() throws {
        let arguments = [try Self.program(), "--exit-with-stdin"]
        var copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var (process, input, output) = (pid_t(), Int32(), Int32())
        let error = shims_spawn_child(&copies, &input, &output, &process)
        guard error == 0 else { throw Self.failure(error) }
        (self.process, self.output) = (process, output)
    }

    private static func program() throws -> String {
        let path = try ThisProgram.path()
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let program = path[..<slash] + "/local-provider"
        guard access(String(program), X_OK) == 0 else {
            throw AuthError(
                .unavailable, .configuration,
                "local-provider is missing next to \(path[slash...].dropFirst()). Build it there, with "
                    + "Samples/build --product local-provider or with swift build",
                outcome: .notSent)
        }
        return String(program)
    }

    private static func failure(_ error: Int32) -> AuthError {
        AuthError(
            .unavailable, .configuration, "local-provider could not be started: \(SystemError.text(error))",
            outcome: .notSent)
    }

    /// Waits for the line that the process prints when it listens. Must be called only once.
    func issuer() async throws -> String {
        try await withTaskCancellationHandler {
            try await firstLine()
        } onCancel: {
            kill(process, SIGTERM)
        }
    }

    private func firstLine() async throws -> String {
        let output = output
        return try await withCheckedThrowingContinuation { continuation in
            let thread = try? SystemThread(named: "provider-output", for: .configuration) {
                var line: [UInt8] = []
                var byte: UInt8 = 0
                while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
                continuation.resume(
                    with: line.isEmpty
                        ? .failure(AuthError(.unavailable, .configuration, "local-provider ended before it was ready"))
                        : .success(String(decoding: line, as: UTF8.self)))
            }
            if let thread { thread.detach() } else { continuation.resume(throwing: Self.failure(EAGAIN)) }
        }
    }

    /// Ends the process and waits for its exit.
    func end() {
        kill(process, SIGTERM)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
    }
}
