import Foundation
import Testing

extension Integration {
    @Suite struct QRCode {
        /// An independent program scans the terminal's text.
        @Test func `the picture on the terminal is the address with the code in it`() async throws {
            let provider = try HelperProcess(Places.program("local-provider"), ["--exit-with-stdin"])
            try await provider.beside {
                let issuer = try await provider.line()
                let workspace = try Workspace()
                let command = """
                    stty cols 100 rows 60
                    exec '\(try Places.program("sign-in").path)' device --issuer \(issuer) --client-id demo \
                    --store memory --timeout 1
                    """
                let shown = try await Program.named("script").run(["-qefc", command, "/dev/null"])
                let address = try #require(
                    shown.output.split(whereSeparator: \.isWhitespace).first { $0.contains("user_code=") },
                    "\(shown)")
                let modules = Self.modules(shown.output)
                try #require(!modules.isEmpty, "no picture (package libqrencode4): \(shown)")
                let picture = try workspace.write(Self.portableGrayMap(modules), to: "picture.pgm")
                let scanned = try await Program.named("zbarimg").run(["--quiet", "--raw", picture])
                #expect(scanned.output == address + "\n", "\(scanned)")
            }
        }

        /// Two rows of modules in each line of black on white; true is dark.
        private static func modules(_ output: String) -> [[Bool]] {
            let (start, end) = ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m")
            return output.components(separatedBy: start).dropFirst().flatMap { rest in
                let characters = rest.components(separatedBy: end)[0]
                return [characters.map { "▀█".contains($0) }, characters.map { "▄█".contains($0) }]
            }
        }

        /// Eight points for each module.
        private static func portableGrayMap(_ modules: [[Bool]]) -> String {
            let rows = modules.map { row in
                row.map { Array(repeating: $0 ? "0" : "255", count: 8).joined(separator: " ") }.joined(separator: "\n")
            }
            let width = (modules.first?.count ?? 0) * 8
            return "P2\n\(width) \(modules.count * 8)\n255\n"
                + rows.flatMap { Array(repeating: $0, count: 8) }.joined(separator: "\n") + "\n"
        }
    }
}
