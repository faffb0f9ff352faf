import Foundation
import JOSE
import TestFixtures

/// A user of the built command `sign-in`, with a home folder of its own and a browser that signs in as alice.
final class CommandUser: Sendable {
    struct Outcome: Sendable, CustomStringConvertible {
        let status: CInt
        let output: String
        let errors: String

        var json: JSON? { try? JSON(parsing: Array(output.utf8)) }
        /// The code of the error; nil if the command has succeeded.
        var code: String? { json?["error"]?["code"]?.string }
        var description: String { "status \(status)\n\(output)\n\(errors)" }
    }

    let home: String
    private static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

    init() throws {
        home = FileManager.default.temporaryDirectory.appending(path: "resources-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: home) }

    /// Writes a file, for an option that reads a secret or a key.
    func file(_ name: String, _ text: String) throws -> String {
        try text.write(toFile: "\(home)/\(name)", atomically: true, encoding: .utf8)
        return "\(home)/\(name)"
    }

    /// Runs `sign-in` to its end.
    func run(_ arguments: [String]) async throws -> Outcome {
        let environment = [
            "HOME": home, "XDG_STATE_HOME": home + "/state", "XAUTHORITY": NSHomeDirectory(), "LANG": "C.UTF-8",
            "PATH": "\(Self.programs.path):/usr/bin:/bin", "BROWSER": "scripted-browser",
            "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass",
        ]
        let paths = (0..<2).map { _ in "\(home)/\(UUID().uuidString)" }
        let streams = paths.map { open($0, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        defer { for stream in streams { close(stream) } }
        let words = [Self.programs.appending(path: "sign-in").path] + arguments
        let process = try Spawn.start(words, environment, output: streams[0], errors: streams[1])
        let status = await Spawn.end(of: process)
        let texts = try paths.map { try String(contentsOfFile: $0, encoding: .utf8) }
        return Outcome(status: status, output: texts[0], errors: texts[1])
    }
}
