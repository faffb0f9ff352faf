import Foundation

/// The programs that were built with the tests, in the same folder, or those of the folder `APPAUTH_PROGRAMS`.
enum BuiltProducts {
    static let folder =
        ProcessInfo.processInfo.environment["APPAUTH_PROGRAMS"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

    static func path(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "expected the program \(path): swift build --product \(name)")
        }
        return path
    }

    struct Missing: Error, CustomStringConvertible { let description: String }
}
