import Foundation
import JOSE
import Testing

/// Paths are bytes. A folder whose name is in Latin-1 is refused before anything is written.
@Suite(.timeLimit(.minutes(5)))
struct PathBytesTests {
    /// Runs `sign-in` from a shell that makes bytes of octal numbers.
    private func run(_ line: String, _ fixture: CommandFixture) async throws -> Outcome {
        let script = "cd '\(fixture.home)' && mkdir -p \"$(printf 'f\\344')\"; "
        return try await fixture.start(
            ["sh", "-c", script + line.replacing("sign-in", with: #""$0""#), BuiltProducts.path("sign-in")], [],
            ["XDG_STATE_HOME": nil]
        ).outcome()
    }

    private func names(_ fixture: CommandFixture) throws -> Set<String> {
        Set(try FileManager.default.subpathsOfDirectory(atPath: fixture.home))
    }

    @Test(arguments: [
        (#"HOME="$PWD/$(printf 'f\344')" sign-in"#, "HOME is not UTF-8"),
        (#"XDG_STATE_HOME="$PWD/$(printf 'f\344')" sign-in"#, "XDG_STATE_HOME is not UTF-8"),
        ("HOME=home sign-in", "HOME is 'home': expected an absolute path"),
    ])
    func `a folder for sessions that cannot be named is refused`(command: String, reason: String) async throws {
        try await withDesk { fixture in
            let login = "login --json --issuer \(fixture.issuer) --client-id demo"
            _ = try await run("true", fixture)
            let before = try names(fixture)
            for words in [login, "token --json", "status --json"] {
                let message = try await run("\(command) \(words)", fixture).failure(1, "store")
                #expect(message.hasPrefix(reason), "\(message)")
            }
            #expect(try names(fixture) == before && fixture.browser.visits.isEmpty)
        }
    }

    @Test func `an argument that is not UTF-8 is wrong usage`() async throws {
        try await withDesk { fixture in
            let login = "sign-in login --json --issuer \(fixture.issuer) --client-id demo"
            _ = try await run("true", fixture)
            let before = try names(fixture)
            let store = #"--store "file:$(printf 'f\344')/session""#
            for line in ["\(login) \(store)", "sign-in token --json \(store)"] {
                #expect(try await run(line, fixture).wrongUsage().contains("is not UTF-8"))
            }
            #expect(try names(fixture) == before && fixture.browser.visits.isEmpty)
        }
    }

    @Test func `a relative path works in a folder whose name is not UTF-8, unless it must be remembered`() async throws
    {
        try await withDesk { fixture in
            let line = #"cd "$(printf 'f\344')" && HOME='\#(fixture.home)' sign-in"#
            let login = "login --json --issuer \(fixture.issuer) --client-id demo --store file:session"
            _ = try await run("\(line) \(login)", fixture).result()
            _ = try await run("\(line) token --json --store file:session", fixture).result()
            let refused = try await run(
                "\(line) \(login.replacing("file:session", with: "file:other")) --profile p", fixture)
            #expect(refused.status == 1 && refused.output.contains("UTF-8"), "\(refused)")
            #expect(fixture.browser.visits.count == 1)
            let files = try FileManager.default.subpathsOfDirectory(atPath: fixture.home)
            #expect(!files.contains { $0.hasSuffix("other") || $0.hasSuffix("p.profile") }, "\(files)")
        }
    }
}
