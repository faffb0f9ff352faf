import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Another user of the machine, who reads the one-time URL in the browser's arguments and opens it first.
@Suite(.timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "only root can be another user for a moment"))
struct OtherUserTests {
    /// A browser that the other user is faster than. Saves the response that they get.
    private func browser(_ fixture: CommandFixture) throws -> String {
        let script = """
            setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
                trap "" PIPE
                host=${0#http://}; host=${host%%/*}
                exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
                printf "GET /${0#http://*/} HTTP/1.1\\r\\nHost: $host\\r\\n\\r\\n" >&3
                cat <&3' "$1" > '\(fixture.home)/stolen'
            exec scripted-browser "$1"
            """
        let path = fixture.home + "/browser.sh"
        try script.write(toFile: path, atomically: true, encoding: .utf8)
        return "sh \(path) %s"
    }

    private func stolen(_ fixture: CommandFixture) throws -> String {
        try String(contentsOfFile: fixture.home + "/stolen", encoding: .utf8)
    }

    @Test func `other users get nothing, and the user signs in and out`() async throws {
        try await withDesk { fixture in
            let browser = try browser(fixture)
            let login = try await fixture.login(with: ["BROWSER": browser])
            _ = try login.result()
            #expect(try stolen(fixture) == "")
            #expect(!login.errors.contains("can connect to the redirect listener"))
            let logout = try await fixture.run("logout", "--json", with: ["BROWSER": browser])
            #expect(try logout.result()["session_ended"] == true)
            #expect(try stolen(fixture) == "")
            #expect(fixture.provider.count(.endSession) > 0)
        }
    }

    @Test func `if the user of the browser is unknown, sign-in says so, and others can use up the URL`() async throws {
        try await withDesk { fixture in
            let changes = ["BROWSER": try browser(fixture), "XAUTHORITY": nil]
            let process = try fixture.start(fixture.loginArguments(["--timeout", "60"]), changes)
            let line = try await process.line { $0.contains("can connect to the redirect listener") }
            #expect(line.contains("the user of the browser is unknown. If only you"))
            #expect(try await fixture.browser.page().contains("This link was already used"))
            #expect(try stolen(fixture).contains(fixture.provider.url(.authorization)))
            // The printed URL works any number of times.
            try await Redirects(process).signIn()
            _ = try await process.outcome().result()

            let logout = try await fixture.start(["logout", "--timeout", "2"], ["BROWSER": "true", "XAUTHORITY": nil])
                .outcome()
            #expect(logout.errors.contains("can connect to the redirect listener"))
        }
    }
}
