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

        /// The words of the command of a sample, which its test has to contain: the program, the actions and the options
        /// without their values.
        var words: [Substring] {
            guard let command = code.firstMatch(of: /^`((?:ffs|seven-pass|moltin|opro|sbanken)\b[^`]*)`/)?.1 else {
                return []
            }
            let words = command.split(separator: " ")
            let ofServer: Set<Substring> = ["--server", "--client-id", "--client-secret-file"]
            let others = words.dropFirst().filter { word in
                !ofServer.contains(word) && word.contains(where: \.isLowercase) && !word.contains("\"")
            }
            return (words[0] == "seven-pass" ? ["home.start"] : [words[0]]) + others
        }
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

    /// A test of the package.
    private struct Found {
        let target: String
        /// Its attribute, its name and its body.
        let text: Substring
    }

    /// All tests of the package by their names.
    private static let tests: [String: [Found]] = {
        let folder = root.appending(path: "Tests").path
        let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        var found: [String: [Found]] = [:]
        for path in paths where path.hasSuffix(".swift") {
            let source = (try? String(contentsOfFile: folder + "/" + path, encoding: .utf8)) ?? ""
            let starts = source.ranges(of: /@Test\b/).map(\.lowerBound) + [source.endIndex]
            for (start, end) in zip(starts, starts.dropFirst()) {
                guard let name = source[start..<end].firstMatch(of: /func `([^`]+)`/)?.1 else { continue }
                let target = String(path.prefix { $0 != "/" })
                found[String(name), default: []].append(Found(target: target, text: source[start..<end]))
            }
        }
        return found
    }()

    @Test(arguments: rows)
    func `a promise has a command or code, and one test`(row: Row) throws {
        #expect(!row.promise.isEmpty && !row.code.isEmpty)
        let found = Self.tests[row.test] ?? []
        // A reader searches for the name.
        try #require(found.count == 1, "\(row.test): \(found.map(\.target))")
        // The tests of the simulated servers send their own HTTP, which shows nothing of the library.
        #expect((found[0].target == "AppAuthTestProviderTests") == row.code.hasPrefix("`local-provider "))
        for word in row.words { #expect(found[0].text.contains(word), "\(row.test): \(word)") }
    }

    @Test func `each system has its promises`() {
        let counts = Dictionary(grouping: Self.rows, by: \.system).mapValues(\.count)
        #expect(counts.keys.sorted() == ["7Pass", "FFSAuthenticator", "Moltin", "S'banken", "oPRO"])
        #expect(counts.values.allSatisfy { $0 >= 9 } && Self.rows.count >= 90)
    }
}
