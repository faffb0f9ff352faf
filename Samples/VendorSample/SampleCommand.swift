internal import AppAuth
public import ArgumentParser
internal import Foundation

/// The frame of a sample. It reports a failure in one line on standard error, without secrets.
///
/// The exit status is 0 for success, 1 for a failure and 2 for wrong usage.
public protocol SampleCommand: AsyncParsableCommand {
    /// The action that begins a session.
    static var firstAction: String { get }
}

extension SampleCommand {
    /// The sign-in.
    public static var firstAction: String { "sign-in" }

    /// Parses the arguments, runs the command and exits.
    public static func main() async {
        // If the reader of the output is gone, the work goes on: it may be a sign-out.
        signal(SIGPIPE, SIG_IGN)
        Foundation.exit(await run(Array(CommandLine.arguments.dropFirst())))
    }

    private static func run(_ arguments: [String]) async -> Int32 {
        do {
            var command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return 0
        } catch let error as AuthError {
            say(advice(for: error).map { "\(error.message); \($0)" } ?? error.message)
            return 1
        } catch {
            guard exitCode(for: error) != .success else {
                print(fullMessage(for: error))
                return 0
            }
            // The parser lists the possible values on lines of their own.
            let lines = message(for: error).split(separator: "\n").map { String($0.trimmingPrefix("  - ")) }
            let values = lines.dropFirst().joined(separator: ", ")
            say([lines.first ?? "wrong usage", values].filter { !$0.isEmpty }.joined(separator: " "))
            return exitCode(for: error) == .validationFailure ? 2 : 1
        }
    }

    /// Returns what the user can do, where the error does not say it in terms of the sample.
    private static func advice(for error: AuthError) -> String? {
        switch (error.code, error.stage) {
        case (.transport, _) where error.outcome == .notSent: "check --server, and whether that server runs"
        case (.signInRequired, .refresh): "begin with the action \(firstAction)"
        default: nil
        }
    }

    private static func say(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(_commandName): \(message.onOneLine)\n".utf8))
    }
}
