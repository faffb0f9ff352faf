import Foundation
import Testing

/// The article FiveSystems has a row for each promise of the five systems' documents, with the name of its test.
struct PromiseTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let system: String
        let promise: String
        let code: String
        let test: String

        var testDescription: String { "\(system): \(promise)" }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// Reads the tables: below a heading for each system, rows of three cells.
    static let rows: [Row] = {
        let article = root.appending(path: "Sources/AppAuth/AppAuth.docc/Articles/FiveSystems.md")
        let text = (try? String(contentsOf: article, encoding: .utf8)) ?? ""
        var (system, rows) = ("", [Row]())
        for line in text.split(separator: "\n") {
            if line.hasPrefix("### ") { system = String(line.dropFirst(4)) }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| "), cells.count == 3, cells[0] != "Promise" else { continue }
            rows.append(Row(system: system, promise: cells[0], code: cells[1], test: cells[2]))
        }
        return rows
    }()

    /// The names of all tests of the package.
    private static let tests: Set<String> = {
        let files = FileManager.default.enumerator(at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
        let sources = (files?.allObjects ?? []).compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        return sources.reduce(into: []) { names, file in
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            names.formUnion(text.matches(of: /func `([^`]+)`/).map { String($0.1) })
        }
    }()

    @Test(arguments: rows)
    func `a promise has a command or code, and a test that exists`(row: Row) {
        #expect(!row.promise.isEmpty && !row.code.isEmpty)
        #expect(Self.tests.contains(row.test), "\(row.test)")
    }

    @Test func `each system has its promises`() {
        let counts = Dictionary(grouping: Self.rows, by: \.system).mapValues(\.count)
        #expect(counts.keys.sorted() == ["7Pass", "FFSAuthenticator", "Moltin", "S'banken", "oPRO"])
        #expect(counts.values.allSatisfy { $0 >= 9 } && Self.rows.count >= 90)
        #expect(!Self.tests.contains("a test that does not exist"))
    }
}
