import AppAuthConcurrency
import Foundation
import TestFixtures

/// A program in a process of its own. It is killed when this object is released.
final class Program: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private struct State {
        var output = ""
        /// The status of waitpid(2), once the program and its output have ended.
        var status: Int32?
        /// The tasks that wait for output or for the end.
        var waiters: [UUID: AsyncStream<Void>.Continuation] = [:]
    }

    let id: pid_t
    private let input: Int32
    private let isInputOpen = LockedValue(true)
    private let state = LockedValue(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Starts a program by its path.
    init(_ path: String, _ arguments: [String], environment: [String: String]? = nil) throws {
        let (id, input, output) = try Self.spawn(path, arguments, environment)
        (self.id, self.input) = (id, input)
        let (state, ended) = (state, ended)
        Thread.detachNewThread {
            func note(_ change: (inout State) -> Void) {
                let waiters = state.withLock { state in
                    change(&state)
                    return state.waiters.values
                }
                for waiter in waiters { waiter.yield() }
            }
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = read(output, &buffer, buffer.count), count > 0 {
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                note { $0.output += text }
            }
            close(output)
            var status: Int32 = 0
            waitpid(id, &status, 0)
            note { $0.status = status }
            ended.signal()
        }
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String]?
    ) throws -> (id: pid_t, input: Int32, output: Int32) {
        let (input, output) = (try pipe(), try pipe())
        defer { for end in [input.read, output.write] { close(end) } }
        let id = try Spawn.start(
            [path] + arguments, environment ?? ProcessInfo.processInfo.environment, input: .descriptor(input.read),
            output: output.write, errors: output.write)
        return (id, input.write, output.read)
    }

    deinit {
        if status == nil { kill(SIGKILL) }
        closeInput()
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw Failure(description: String(cString: strerror(errno))) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// The path of the program of these tests.
    static let session = built("postgresql-program")

    /// Starts the program of these tests.
    static func session(_ arguments: [String]) throws -> Program { try Program(session, arguments) }

    /// Runs a command to its end.
    static func run(_ path: String, _ arguments: [String], environment: [String: String]? = nil) throws -> String {
        let program = try Program(path, arguments, environment: environment)
        program.ended.wait()
        guard program.status == 0 else {
            throw Failure(description: "\(path) \(arguments): \(program.output)")
        }
        return program.output
    }

    var output: String { state.withLock { $0.output } }
    private var status: Int32? { state.withLock { $0.status } }
    func kill(_ signal: Int32) { Glibc.kill(id, signal) }
    func write(_ line: String) { _ = Glibc.write(input, line + "\n", line.utf8.count + 1) }

    /// Ends the program's input. Further calls have no effect.
    func closeInput() {
        let isFirst = isInputOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if isFirst { close(input) }
    }

    /// Waits for a line that is complete.
    func line(_ isWanted: @escaping @Sendable (Substring) -> Bool = { _ in true }) async throws -> String {
        try await wait { state in
            let lines = state.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            if let line = lines.first(where: isWanted) { return String(line) }
            guard state.status == nil else { throw Failure(description: "the program ended after: \(state.output)") }
            return nil
        }
    }

    /// Waits for the end, and returns the output.
    func end() async throws -> String {
        try await wait { $0.status == nil ? nil : $0.output.trimmingCharacters(in: .whitespacesAndNewlines) }
    }

    /// Waits until the output or the end gives a value.
    private func wait<Value>(for value: (State) throws -> Value?) async throws -> Value {
        let (changes, waiter) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = UUID()
        state.withLock { $0.waiters[id] = waiter }
        defer { state.withLock { $0.waiters[id] = nil } }
        waiter.yield()
        for await _ in changes { if let value = try state.withLock({ try value($0) }) { return value } }
        throw CancellationError()
    }

    /// The path of a program of this package, beside the running test bundle.
    private static func built(_ name: String) -> String {
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
    }
}
