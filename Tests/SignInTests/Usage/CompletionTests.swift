import Foundation
import Testing

/// The scripts that complete the words of `sign-in` in a shell.
@Suite(.timeLimit(.minutes(5)))
struct CompletionTests {
    private static let shells = ["bash", "zsh", "fish"]

    private func script(_ shell: String, _ fixture: CommandFixture) async throws -> String {
        let outcome = try await fixture.run("--generate-completion-script", shell)
        #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        let path = "\(fixture.home)/completion.\(shell)"
        try outcome.output.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test(arguments: shells)
    func `each shell has a script that it can parse`(shell: String) async throws {
        try await withDesk { fixture in
            let path = try await script(shell, fixture)
            guard FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)") else { return }
            let parsed = try await ChildProcess([shell, "-n", path], environment: fixture.environment).outcome()
            #expect(parsed.status == 0 && parsed.errors.isEmpty, "\(parsed)")
        }
    }

    @Test func `bash completes commands, options and the names of profiles`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let path = try await script("bash", fixture)
            func completions(_ words: String...) async throws -> [String] {
                let complete = """
                    source "$0"
                    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*"
                    COMP_POINT=${#COMP_LINE}
                    _sign_in sign-in "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
                    printf '%s\\n' "${COMPREPLY[@]}"
                    """
                let outcome = try await ChildProcess(
                    ["bash", "-c", complete, path] + words, environment: fixture.environment
                ).outcome()
                return outcome.outputLines.map { $0.trimmingCharacters(in: .whitespaces) }
            }
            #expect(try await completions("sign-in", "tok") == ["token"])
            #expect(try await completions("sign-in", "helper", "git", "--prof") == ["--profile"])
            #expect(try await completions("sign-in", "token", "--profile", "") == ["work"])
            #expect(try await completions("sign-in", "use", "") == ["work"])
            #expect(try await completions("sign-in", "helper", "git", "") == ["get", "store", "erase"])
            #expect(try await completions("sign-in", "token", "--store", "k") == ["keyring"])
            let key = fixture.home + "/key.pem"
            try Data().write(to: URL(filePath: key))
            for option in ["--client-key", "--client-secret-file", "--ca-file"] {
                #expect(try await completions("sign-in", "login", option, key.dropLast(2).description) == [key])
            }
            // As `sh`, or with `set -o posix`.
            let posix = try await ChildProcess(
                ["bash", "--posix", "-c", "source \"$0\"; complete -p sign-in", path], environment: fixture.environment
            ).outcome()
            #expect(posix.status == 0 && posix.errors.isEmpty, "\(posix)")
            // After `file:`, bash completes the names of files itself.
            #expect(try String(contentsOfFile: path, encoding: .utf8).contains("complete -o filenames -o default "))
        }
    }
}
