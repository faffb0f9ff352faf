import Foundation
import TestFixtures

/// A listener in a process of its own: clients in this one cost it nothing. Its calls block.
final class ListenerProcess: Sendable {
    private let process = Process()
    private let output = Pipe.exclusive()
    private let lifeline = Pipe.exclusive()
    /// In its place an error, for a listener that could not be made.
    let redirectURI: String

    /// - Parameters:
    ///   - words: The program that starts it, and its arguments.
    ///   - check: Its same-user check.
    ///   - isPatient: Whether a connection may take a minute for its request.
    ///   - isFull: Whether it follows ``order()``.
    ///   - arguments: Another task in place of listening.
    init(
        by words: [String] = [], _ check: String = "automatic", isPatient: Bool = false, isFull: Bool = false,
        arguments: [String] = []
    ) throws {
        // It lies beside the tests.
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            words + [folder.appending(path: "listening-app").path]
            + (arguments.isEmpty ? (isPatient ? ["patient"] : []) + (isFull ? ["full"] : []) + [check] : arguments)
        process.standardOutput = output
        process.standardInput = lifeline
        try process.run()
        redirectURI = arguments.isEmpty ? try Self.line(output) : ""
    }

    deinit { process.terminate() }

    /// The parameters of the awaited redirect, and how many requests were ignored.
    func result() throws -> (parameters: String, ignored: Int) {
        (try Self.line(output), Int(try Self.line(output)) ?? -1)
    }

    /// The next line that it prints.
    func line() throws -> String { try Self.line(output) }

    /// Makes it take its next step.
    func order() throws { try lifeline.fileHandleForWriting.write(contentsOf: [0]) }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for its end.
    func status() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// The private part of its resident memory, in KiB (proc(5)): without the program's files, whose pages come and go.
    var memory: Int {
        let line = text("status").split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first ?? 0
    }

    /// How many sockets it has open.
    var sockets: Int {
        let targets = entries("fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "fd/\($0)")
        }
        return targets.filter { $0.hasPrefix("socket:") }.count
    }

    /// The names of its threads that listeners have started.
    var listenerThreads: [String] {
        entries("task").map { text("task/\($0)/comm") }.filter { $0.hasPrefix("redirect-") }
    }

    private var folder: String { "/proc/\(process.processIdentifier)/" }

    private func text(_ name: String) -> String { (try? String(contentsOfFile: folder + name, encoding: .utf8)) ?? "" }

    private func entries(_ name: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder + name)) ?? []
    }

    private static func line(_ pipe: Pipe) throws -> String {
        var bytes: [UInt8] = []
        while let byte = try pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
