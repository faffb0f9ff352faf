public import AppAuth
internal import Foundation

/// A process of the program `local-provider` in the same folder, which simulates the server of a vendor. It ends
/// when its standard input does, so it also ends if this program is killed.
public final class DemoServer {
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    /// Starts the process.
    ///
    /// - Parameters:
    ///   - vendor: The vendor, for example `moltin`.
    ///   - arguments: Further arguments of the program.
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the program is missing.
    public init(double vendor: String, _ arguments: [String] = []) throws {
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "local-provider")
        process.executableURL = program
        process.arguments = ["--exit-with-stdin", "--double", vendor] + arguments
        (process.standardInput, process.standardOutput) = (input, output)
        do { try process.run() } catch {
            throw AuthError(
                .unavailable, .configuration,
                "expected the program \(program.path), found none: swift build --product local-provider",
                outcome: .notSent)
        }
    }

    /// Waits until the server listens.
    ///
    /// - Returns: The data to sign in with: `base_url`, and its clients, users and codes.
    public func demo() throws -> JSON {
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { break }
            line += more
        }
        guard let demo = try? JSON(parsing: Array(line)), demo["base_url"]?.string != nil else {
            throw AuthError(.unavailable, .configuration, "expected local-provider to print its base_url")
        }
        return demo
    }

    /// Ends the process and waits for its exit.
    public func end() {
        process.terminate()
        process.waitUntilExit()
    }
}
