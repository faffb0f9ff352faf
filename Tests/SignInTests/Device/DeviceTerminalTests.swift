import Foundation
import AppAuthTestProvider
import Testing

/// `sign-in device` on a terminal: the picture of the code, and the time that is left.
@Suite(.timeLimit(.minutes(5)))
struct DeviceTerminalTests {
    /// Runs the command on a terminal of this size until its time is over, and returns the terminal's text.
    private func terminal(
        _ fixture: CommandFixture, columns: Int, rows: Int, seconds: Int = 2, with changes: [String: String?] = [:]
    ) async throws -> String {
        let command = """
            stty cols \(columns) rows \(rows)
            exec "\(try BuiltProducts.path("sign-in"))" device --issuer \(fixture.issuer) --client-id demo --timeout \(seconds)
            """
        return try await fixture.start(["script", "-qefc", command, "/dev/null"], [], changes).outcome().output
    }

    /// A row of the picture begins with black on white.
    private static let row = "\u{1B}[38;5;16;48;5;231m"

    @Test(
        arguments: [
            // The address with the code takes 29 modules, and the margin 4 on each side: 37 columns, 19 rows. Below it are the
            // sentence that says where it was requested, which takes 4 rows then, and the time.
            (100, 60, true), (37, 24, true), (36, 24, false), (37, 23, false),
        ])
    func `the QR code is shown if it fits`(columns: Int, rows: Int, isThere: Bool) async throws {
        try await withDesk(.device) { fixture in
            let text = try await terminal(fixture, columns: columns, rows: rows)
            #expect(text.contains("/device?user_code="), "\(text)")
            let rows = text.components(separatedBy: Self.row).dropFirst().map { $0.prefix { $0 != "\u{1B}" } }
            #expect(rows.count == (isThere ? 19 : 0), "\(text)")
            // The margin, and below it the finder patterns at the left and the right edge (ISO/IEC 18004 §6.3.3).
            let (margin, finder) = (String(repeating: " ", count: 4), "█▀▀▀▀▀█")
            guard isThere else { return }
            #expect(rows[0...1].allSatisfy { $0.allSatisfy { $0 == " " } && $0.count == 37 }, "\(text)")
            #expect(rows[2].hasPrefix(margin + finder) && rows[2].hasSuffix(finder + margin), "\(text)")
        }
    }

    @Test(arguments: [(["NO_COLOR": "1"], true), (["TERM": "dumb"], false)])
    func `the QR code is black on white, or left out`(changes: [String: String], isThere: Bool) async throws {
        try await withDesk(.device) { fixture in
            let text = try await terminal(fixture, columns: 100, rows: 60, with: changes.mapValues(Optional.some))
            #expect(text.contains("/device?user_code="), "\(text)")
            #expect(text.contains("\u{1B}") == isThere && text.contains("▀") == isThere, "\(text)")
            #expect(text.components(separatedBy: Self.row).count - 1 == (isThere ? 19 : 0), "\(text)")
        }
    }

    @Test func `without libqrencode everything but the QR code is shown`() async throws {
        try await withDesk(.device) { fixture in
            // The loader takes this for the library, and refuses it.
            let folder = fixture.home + "/lib"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try Data().write(to: URL(filePath: folder + "/libqrencode.so.4"))
            let text = try await terminal(fixture, columns: 100, rows: 60, with: ["LD_LIBRARY_PATH": folder])
            #expect(text.contains("/device?user_code=") && text.contains(" left, Ctrl-C"))
            #expect(!text.contains(Self.row))
        }
    }

    @Test func `the remaining time is one line that is rewritten and cleared at the end`() async throws {
        try await withDesk(.device) { fixture in
            let text = try await terminal(fixture, columns: 30, rows: 60, seconds: 5)
            let lines = text.components(separatedBy: "\r\u{1B}[K")
            for left in ["0:03", "0:02", "0:01"] {
                #expect(lines.contains { $0.hasSuffix(" Waiting: \(left) left, Ctrl-C ") }, "\(lines)")
            }
            #expect(lines.dropFirst().dropLast().allSatisfy { !$0.contains("\n") })
            #expect(lines.last?.hasPrefix("\u{1B}[31msign-in:\u{1B}[0m the command did not finish") == true)
        }
    }
}
