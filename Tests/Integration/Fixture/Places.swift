import Foundation

/// Where things lie: the sources that this file was compiled from, and the programs that were built with these tests.
enum Places {
    /// The package's root folder.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The scripts that set up providers and the browser.
    static let setup = root.appending(path: "Tests/Integration/Setup")

    /// Kept between two runs, so that the second one needs no network.
    static let cache = root.appending(path: ".build/integration")

    /// A program that was built into the folder where the test bundle lies.
    static func program(_ name: String) throws -> URL {
        let bundle = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = URL(filePath: bundle).deletingLastPathComponent().appending(path: name)
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw SetupFailure("\(program.path) is missing: swift build --build-tests builds it.")
        }
        return program
    }
}

/// The reason why a test cannot begin: something that is missing or does not start. The test fails with this text.
struct SetupFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
