internal import AppAuth
package import ArgumentParser
internal import Foundation

/// The frame of a sample. It reports a failure in one line on standard error, without secrets.
///
/// The exit status is 0 for success, 1 for a failure and 2 for wrong usage.
package protocol SampleCommand: AsyncParsableCommand {}

extension SampleCommand {
    /// Parses the arguments, runs the command and exits.
    package static func main() async { Foundation.exit(await run(Array(CommandLine.arguments.dropFirst()))) }

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
            say(error.message)
            return 1
        } catch {
            guard exitCode(for: error) != .success else {
                print(fullMessage(for: error))
                return 0
            }
            let message = fullMessage(for: error).split(separator: "\n").first ?? "wrong usage"
            say(message.hasPrefix("Error: ") ? String(message.dropFirst("Error: ".count)) : String(message))
            return exitCode(for: error) == .validationFailure ? 2 : 1
        }
    }

    private static func say(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(_commandName): \(message.onOneLine)\n".utf8))
    }
}
