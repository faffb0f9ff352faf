import Foundation
import Testing

/// The code that is specific to a vendor stays out of the library's core, which does not even name the vendors.
struct VendorNamesTests {
    /// At the beginning of a word where they are the middle of others ("toProvider", "offset"), else anywhere. PostgreSQL
    /// has a column "oprowner".
    private static let names = [
        "7 ?pass", "seven[-_ ]?pass", "moltin", "molt[.]in", #"(^|[^a-z])opro(?!wner)"#, "s['’]?banken", "heimdallr?",
        #"(^|[^a-z])ffs"#,
    ]

    /// Returns the lines of code in a folder that name a vendor.
    private static func findings(in folder: URL) throws -> [String] {
        let pattern = try Regex(names.joined(separator: "|")).ignoresCase()
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        return try (files?.allObjects ?? []).compactMap { $0 as? URL }.flatMap { file -> [String] in
            let name = file.lastPathComponent
            // Articles say how to migrate from a vendor's library.
            guard !file.path.contains(".docc/"),
                try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true
            else { return [] }
            // A picture has no lines.
            let text = String(validating: try Data(contentsOf: file), as: UTF8.self) ?? ""
            return ([name] + text.split(separator: "\n").map(String.init)).filter { $0.contains(pattern) }.map {
                "\(name): \($0)"
            }
        }
    }

    private static var sources: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources").standardized
    }

    @Test(arguments: [
        "AppAuth", "AppAuthConcurrency", "AppAuthFoundation", "AppAuthPostgreSQL", "AppAuthProtocol", "AppAuthProxy",
        "AppAuthServer",
        "AppAuthSession", "AppAuthTestSupport", "JOSE", "CShims", "ScriptedBrowser",
    ])
    func `no vendor is named`(target: String) throws {
        let folder = Self.sources.appending(component: target)
        #expect(FileManager.default.fileExists(atPath: folder.path))
        #expect(try Self.findings(in: folder) == [])
    }

    @Test(arguments: [
        "// as 7Pass has it", "struct SevenPassClient {}", "let moltinError = 1", "case oPRO", "// S'banken",
        "sbanken()",
        "/// After Heimdallr", "class HeimdallResourceRequestAuthenticator {}", "FFSAuthenticator", "let ffs = 1",
        "https://api.molt.in/",
    ])
    func `one that is planted is found`(line: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(component: "names-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let inner = folder.appending(component: "Session")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true)
        let file = inner.appending(component: "AuthState.swift")
        try "let offset = toProvider\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(try Self.findings(in: folder) == [])
        try "let offset = 1\n\(line)\n".write(to: file, atomically: true, encoding: .utf8)
        #expect(try Self.findings(in: folder) == ["AuthState.swift: \(line)"])
    }
}
