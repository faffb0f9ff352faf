import Foundation
import TestFixtures
import Testing

/// A folder of its own for a test, where the programs keep their state.
struct CommandFixture: Sendable {
    let folder: URL

    /// Runs a test at a desk of its own, which is cleared at the end.
    static func with(_ test: (CommandFixture) async throws -> Void) async throws {
        let fixture = CommandFixture(
            folder: FileManager.default.temporaryDirectory.appending(component: "desk-\(UUID().uuidString)"))
        try FileManager.default.createDirectory(at: fixture.folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: fixture.folder) }
        try await test(fixture)
    }

    /// Writes a file, by default readable only by its owner.
    ///
    /// - Returns: Its path.
    func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
        let path = folder.path + "/" + name
        let isWritten = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        try #require(isWritten)
        return path
    }

    /// Returns the path of a program that was built with the tests.
    /// The command of the scripted browser, for `BROWSER`: a path without spaces, wherever the tests were built.
    var browser: String {
        get throws {
            let link = folder.path + "/browser"
            if !FileManager.default.fileExists(atPath: link) {
                try FileManager.default.createSymbolicLink(
                    atPath: link, withDestinationPath: Self.product("scripted-browser"))
            }
            return link
        }
    }

    static func product(_ name: String) -> String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path + "/" + name
    }

    /// Runs a program with an environment of its own, and waits until it has ended. A name without a slash is that of a
    /// program that was built with the tests.
    func run(_ program: String, _ arguments: [String], _ environment: [String: String] = [:]) async throws -> Outcome {
        let (output, errors) = (try write("output", ""), try write("errors", ""))
        let files = try [output, errors].map { try FileHandle(forWritingTo: URL(filePath: $0)) }
        let id = try Spawn.start(
            [program.contains("/") ? program : Self.product(program)] + arguments,
            environment.merging(["HOME": folder.path, "XDG_STATE_HOME": folder.path]) { $1 },
            output: files[0].fileDescriptor, errors: files[1].fileDescriptor)
        for file in files { try file.close() }
        return Outcome(
            status: await Spawn.end(of: id), output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }
}

/// The exit status and the output of a program.
struct Outcome: Sendable, CustomStringConvertible {
    let status: Int32
    let output: String
    let errors: String

    var description: String { "status \(status)\noutput: \(output)\nerrors: \(errors)" }

    /// Expects that it was done, and returns its lines.
    func lines(sourceLocation: SourceLocation = #_sourceLocation) -> [String] {
        #expect(status == 0 && errors.isEmpty, "\(self)", sourceLocation: sourceLocation)
        return output.split(separator: "\n").map(String.init)
    }

    /// Expects one line on standard error.
    func failure(_ expected: Int32 = 1, sourceLocation: SourceLocation = #_sourceLocation) -> String {
        #expect(status == expected, "\(self)", sourceLocation: sourceLocation)
        #expect(
            errors.hasSuffix("\n") && errors.dropLast().allSatisfy { $0 != "\n" }, "\(self)",
            sourceLocation: sourceLocation)
        return errors
    }
}
