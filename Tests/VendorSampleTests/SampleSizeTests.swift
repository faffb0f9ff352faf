import Foundation
import Testing

/// Readers copy from the samples: each is small.
struct SampleSizeTests {
    @Test(arguments: ["CommandLine", "SevenPass", "FFSAuthenticator", "Moltin", "OPro", "Sbanken"])
    func `a sample has less than 190 lines`(sample: String) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Samples/\(sample)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        let lines = try files.map { try String(contentsOf: $0, encoding: .utf8).count(where: \.isNewline) }
        #expect(lines.reduce(0, +) < 190 && !lines.isEmpty)
    }
}
