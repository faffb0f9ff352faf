internal import AppAuth
internal import CShims
internal import FoundationEssentials
internal import Glibc
package import JOSE

/// The executable `local-provider` beside this one, running for as long as this value is used: the provider, or the
/// double of a vendor's server.
///
/// ```swift
/// let server = try DemoServer(double: "moltin")
/// defer { server.end() }
/// let demo = try await server.demo()   // base_url, and the clients and people that it knows
/// ```
/// It ends when its standard input does, so that it goes too if this process is killed.
package final class DemoServer: Sendable {
    private let process: pid_t
    private let input: Int32
    private let output: Int32
    private let hasEnded = LockedValue(false)

    /// Starts it.
    ///
    /// - Parameter double: Whose server it plays, for example `seven-pass`; nil means a provider of its own.
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the program is not there.
    package init(double: String? = nil) throws {
        let arguments = [try Self.program(), "--exit-with-stdin"] + (double.map { ["--double", $0] } ?? [])
        var copies = arguments.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        var process: pid_t = 0
        var input: Int32 = 0
        var output: Int32 = 0
        let error = shims_spawn_child(&copies, &input, &output, &process)
        guard error == 0 else { throw Self.failure(error) }
        (self.process, self.input, self.output) = (process, input, output)
    }

    private static func program() throws -> String {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let program = path[..<slash] + "/local-provider"
        guard access(String(program), X_OK) == 0 else {
            throw AuthError(
                .unavailable, .configuration,
                "expected the program local-provider beside \(path[slash...].dropFirst()), found none: swift build --product local-provider",
                outcome: .notSent)
        }
        return String(program)
    }

    private static func failure(_ error: Int32) -> AuthError {
        AuthError(
            .unavailable, .configuration, "local-provider could not be started: \(String(cString: strerror(error)))",
            outcome: .notSent)
    }

    /// Waits for the line that it prints when it listens: the provider's issuer, or what ``demo()`` reads. Once.
    package func announcement() async throws -> String {
        try await withTaskCancellationHandler {
            try await firstLine()
        } onCancel: {
            kill(process, SIGTERM)
        }
    }

    /// Waits until a double listens.
    ///
    /// - Returns: What a program needs to try it: `base_url`, and the clients, people and codes that it knows.
    package func demo() async throws -> JSON {
        let line = try await announcement()
        guard let demo = try? JSON(parsing: Array(line.utf8)), demo["base_url"]?.string != nil else {
            throw AuthError(.unavailable, .configuration, "expected local-provider to say its base_url")
        }
        return demo
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

    /// Ends the process and waits until it is gone.
    package func end() {
        guard
            hasEnded.withLock({ hasEnded in
                defer { hasEnded = true }
                return !hasEnded
            })
        else { return }
        close(input)
        kill(process, SIGTERM)
        while waitpid(process, nil, 0) < 0, errno == EINTR {}
        close(output)
    }

    deinit { end() }
}
