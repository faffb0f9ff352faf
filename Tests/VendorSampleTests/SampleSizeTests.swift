import Foundation
import Testing

/// The samples are what a reader copies from: each is small.
struct SampleSizeTests {
    @Test(arguments: [("SevenPass", 210), ("Moltin", 150), ("OPro", 150), ("Sbanken", 150)])
    func `a sample is short`(sample: String, limit: Int) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Samples/\(sample)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let lines = try files.map { try String(contentsOf: $0, encoding: .utf8).count(where: \.isNewline) }
        #expect(lines.reduce(0, +) < limit && !lines.isEmpty)
    }
}
