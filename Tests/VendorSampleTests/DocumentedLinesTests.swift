import Foundation
import Testing

/// The lines that the documentation shows are those of samples, which are built.
struct DocumentedLinesTests {
    private func text(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    private func swiftBlocks(of path: String) throws -> [String] {
        try text(path).matches(of: /```swift\n(.*?)```/.dotMatchesNewlines()).map { String($0.1) }
    }

    @Test func `the README begins with the sample QuickStart`() throws {
        #expect(try swiftBlocks(of: "README.md").first == text("Samples/QuickStart/main.swift"))
    }

    @Test func `the article about tests shows lines of the sample AppTests`() throws {
        let sample = try text("Samples/AppTests/StayingSignedInTests.swift")
        let blocks = try swiftBlocks(of: "Sources/AppAuth/AppAuth.docc/Articles/TestingYourApp.md")
        #expect(blocks.count > 3)
        for block in blocks { #expect(sample.contains(block)) }
    }
}
