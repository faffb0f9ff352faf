import Foundation
import Testing

/// What can happen to a process at a certain point of its life (`Tests/Support/Accidents/accidents.c`).
enum PointAccident: String {
    case kill, pause, fail, full, outage
    case outageWithNames = "outage with names"
}

/// Starts `sign-in` so that something happens to it at a certain point: a call on a file of the session or on a connection.
struct Accidents {
    let desk: Desk
    private let library: String

    /// Builds what is loaded into the process, into the person's home.
    init(_ desk: Desk) async throws {
        self.desk = desk
        library = try await Self.library("accidents", for: desk)
    }

    /// Builds a library of `Tests/Support/Accidents` into the person's home, and returns its path.
    static func library(_ name: String, for desk: Desk, linking others: String...) async throws -> String {
        let library = "\(desk.home)/\(name).so"
        guard !FileManager.default.fileExists(atPath: library) else { return library }
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Support/Accidents/\(name).c").path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let arguments = ["clang", "-shared", "-fPIC", "-O1", "-o", library, source] + others.map { "-l:\($0)" }
        let outcome = try await ChildProcess(arguments, environment: ["PATH": path]).outcome()
        try #require(outcome.status == 0, "\(outcome)")
        return library
    }

    /// - Parameters:
    ///   - point: The first is 1; nil for a process to which nothing happens, and that tells its points.
    ///   - gate: Where a process that is to pause waits.
    func start(
        _ arguments: [String], _ accident: PointAccident = .kill, at point: Int? = nil, error: CInt? = nil,
        gate: Gate? = nil
    ) throws -> ChildProcess {
        var changes = ["LD_PRELOAD": library, "ACCIDENT_FOLDER": desk.sessions]
        if let point { changes.merge(["ACCIDENT": accident.rawValue, "ACCIDENT_AT": String(point)]) { $1 } }
        if let error { changes["ACCIDENT_ERROR"] = String(error) }
        if let gate { changes["ACCIDENT_GATE"] = gate.path }
        return try desk.start(arguments, changes)
    }
}

/// A named pipe at which a process waits until it is opened.
struct Gate {
    let path: String

    /// Lets the process go on; waits for it to arrive.
    func open() throws { try FileHandle(forWritingTo: URL(filePath: path)).close() }
}

extension Desk {
    /// Makes a gate in the person's home, in the place of the last one.
    func gate() throws -> Gate {
        let path = home + "/gate"
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return Gate(path: path)
    }
}

extension Outcome {
    /// The points that a process has come to; at the last of them it may have died, which is before the call was made, except
    /// for what was received.
    var points: [String] {
        errorLines.filter(Self.isPoint).compactMap { line in
            line.split(separator: " ", maxSplits: 2).last.map(String.init)
        }
    }

    static func isPoint(_ line: String) -> Bool { line.hasPrefix("accident: ") }
}
