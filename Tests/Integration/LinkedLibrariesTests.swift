import Foundation
import Testing

extension Integration {
    @Suite struct LinkedLibraries {
        /// libcurl costs each start 3.5 ms, so it is opened when it is first used; Foundation twice the time of FoundationEssentials.
        @Test(arguments: ["debug", "release"])
        func `sign-in needs neither Foundation nor libcurl to start`(configuration: String) async throws {
            let needed = try await librariesNeeded(by: Places.program("../\(configuration)/sign-in"))
            #expect(needed.contains { $0.hasPrefix("libcrypto.so") }, "\(needed)")
            for library in needed {
                #expect(!library.contains("curl"))
                #expect(!library.contains("Foundation") || library.contains("FoundationEssentials"))
            }
        }

        @Test func `the released sign-in contains Swift's libraries`() async throws {
            let needed = try await librariesNeeded(by: Places.program("../release/sign-in"))
            #expect(needed.contains("libc.so.6"))
            #expect(!needed.contains { $0.contains("swift") || $0.contains("Foundation") }, "\(needed)")
        }

        private func librariesNeeded(by program: URL) async throws -> [String] {
            let readelf = try await Program.named("readelf").run(["--dynamic", program.path])
            try #require(readelf.status == 0, "readelf (package binutils): \(readelf.errors)")
            return readelf.output.split(separator: "\n").filter { $0.contains("(NEEDED)") }.compactMap { line in
                line.split(separator: "[").last?.split(separator: "]").first.map(String.init)
            }
        }
    }
}
