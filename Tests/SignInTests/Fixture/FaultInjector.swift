import Foundation
import Testing

/// A fault at a certain point of a process (`Tests/Faults/faults.c`).
enum PointFault: String {
    case kill, pause, fail, full, outage
    case outageWithNames = "outage with names"
}

/// A launcher of `sign-in` that injects a fault at a certain point: a call on a file of the session or on a connection.
struct FaultInjector {
    let fixture: CommandFixture
    private let library: String

    /// Builds the library that is loaded into the process, in the fixture's home folder.
    init(_ fixture: CommandFixture) async throws {
        self.fixture = fixture
        library = try await Self.library("faults", for: fixture)
    }

    /// Builds a library of `Tests/Faults` in the fixture's home folder, and returns its path.
    static func library(_ name: String, for fixture: CommandFixture, linking others: String...) async throws -> String {
        let library = "\(fixture.home)/\(name).so"
        guard !FileManager.default.fileExists(atPath: library) else { return library }
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Faults/\(name).c").path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let arguments = ["clang", "-shared", "-fPIC", "-O1", "-o", library, source] + others.map { "-l:\($0)" }
        let outcome = try await ChildProcess(arguments, environment: ["PATH": path]).outcome()
        try #require(outcome.status == 0, "\(outcome)")
        return library
    }

    /// - Parameters:
    ///   - point: The number of the point, beginning with 1; nil for a process without a fault, which only reports its
    ///     points.
    ///   - gate: The gate at which a process with the fault `pause` waits.
    func start(
        _ arguments: [String], _ fault: PointFault = .kill, at point: Int? = nil, error: CInt? = nil,
        gate: Gate? = nil
    ) throws -> ChildProcess {
        var changes = ["LD_PRELOAD": library, "FAULT_FOLDER": fixture.sessions]
        if let point { changes.merge(["FAULT": fault.rawValue, "FAULT_AT": String(point)]) { $1 } }
        if let error { changes["FAULT_ERROR"] = String(error) }
        if let gate { changes["FAULT_GATE"] = gate.path }
        return try fixture.start(arguments, changes)
    }
}

/// A named pipe at which a process waits until it is opened.
struct Gate {
    let path: String

    /// Waits for the process to arrive, and lets it continue.
    func open() throws { try FileHandle(forWritingTo: URL(filePath: path)).close() }
}

extension CommandFixture {
    /// Creates a gate in the home folder, and replaces the previous one.
    func gate() throws -> Gate {
        let path = home + "/gate"
        unlink(path)
        guard mkfifo(path, 0o600) == 0 else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
        return Gate(path: path)
    }
}

extension Outcome {
    /// The points that the process has reached. If it was killed at the last one, the call there was not made, unless
    /// the point comes after the call (`sent`, `received`).
    var points: [String] {
        errorLines.filter(Self.isPoint).compactMap { line in
            line.split(separator: " ", maxSplits: 2).last.map(String.init)
        }
    }

    static func isPoint(_ line: String) -> Bool { line.hasPrefix("fault: ") }
}
