import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(5)))
struct DemoTests {
    @Test func `demo prints each step, and ends the provider`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("demo", "--headless")
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            let steps = outcome.outputLines.filter { $0.hasPrefix("• ") }
            let expected = [
                "listening", "scripted browser", "metadata", "login page", "came back", "Exchanged", "Signed in",
                "valid until", "userinfo", "rotated", "Signed out",
            ]
            #expect(steps.count == expected.count, "\(outcome)")
            for (step, word) in zip(steps, expected) { #expect(step.contains(word)) }
            #expect(outcome.output.contains("sub: ") && outcome.output.contains("iss: "))
            let issuer = try #require(outcome.output.firstMatch(of: /http:\/\/127\.0\.0\.1:\d+/).map { String($0.0) })
            #expect(await Redirects.isClosed(issuer))
            #expect(fixture.browser.visits.isEmpty && fixture.stored.isEmpty)
        }
    }

    @Test func `with json there is one object`() async throws {
        try await withDesk { fixture in
            // No display in the environment, or an empty name: headless by itself.
            let outcome = try await fixture.run("demo", "--json", with: ["DISPLAY": ""])
            let json = try outcome.result()
            #expect(outcome.errors.isEmpty)
            let issuer = try #require(json["issuer"]?.string)
            #expect(json["id_token_claims"]?["iss"]?.string == issuer)
            #expect(json["userinfo"]?["sub"] == json["id_token_claims"]?["sub"])
            #expect(json["refresh_token_rotated"] == true)
            #expect(json["revoked"] == ["refresh_token", "access_token"])
            #expect(json["session_ended"] == true)
            #expect(await Redirects.isClosed(issuer) && fixture.browser.visits.isEmpty)
        }
    }

    @Test func `with a display the desktop's browser is used, and the page shows the password`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("demo", "--json", with: ["DISPLAY": ":0"])
            _ = try outcome.result()
            #expect(fixture.browser.visits.count == 2)
            // The user goes back to the terminal, not to a window.
            for page in 1...2 { #expect(try await fixture.browser.page(page).contains("terminal")) }
        }
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 1), (SIGKILL, 137)] as [(CInt, CInt)])
    func `the provider ends with the demo, however the demo ends`(signal: CInt, status: CInt) async throws {
        try await withDesk { fixture in
            let process = try fixture.start(["demo"], ["DISPLAY": ":0", "BROWSER": "true"])
            let url = try await process.line { $0.hasPrefix("  http") }.trimmed
            let children = try Processes.arguments(childrenOf: process.id).filter { $0.contains("local-provider") }
            #expect(children.count == 1 && !children.joined().contains(":"), "\(children)")
            process.send(signal)
            // Its standard error is the provider's too: this returns when both have closed it.
            #expect(try await process.outcome().status == status)
            #expect(await Redirects.isClosed(url))
        }
    }

    @Test func `a terminal shows that it waits`() async throws {
        try await withDesk { fixture in
            let command = "'\(try BuiltProducts.path("sign-in"))' demo"
            let outcome = try await fixture.start(["script", "-qec", command, "/dev/null"], [], ["DISPLAY": ":0"])
                .outcome()
            #expect(outcome.status == 0 && outcome.output.contains("Waiting for the browser ("), "\(outcome)")
            #expect(outcome.output.contains("Signed in: "))
            let signOut = try #require(outcome.output.components(separatedBy: "rotated").last)
            #expect(signOut.contains("Waiting for the browser ("))
        }
    }

    @Test func `a browser that does not come back ends it with that reason`() async throws {
        try await withDesk { fixture in
            let display = ["DISPLAY": ":0", "BROWSER": "true"]
            let outcome = try await fixture.run("demo", "--json", "--timeout", "3", with: display)
            #expect(try outcome.failure(1, "timeout").contains("the browser did not come back"))
        }
    }

    @Test func `without local-provider demo names the missing program`() async throws {
        try await withDesk { fixture in
            let alone = fixture.home + "/sign-in"
            try await ProgramFile.copy(BuiltProducts.path("sign-in"), to: alone)
            let outcome = try await fixture.start([alone], ["demo", "--json"]).outcome()
            #expect(try outcome.failure(1, "unavailable").contains("local-provider"))
            try await ProgramFile.write("no program", to: fixture.home + "/local-provider")
            let refused = try await fixture.start([alone], ["demo", "--json"]).outcome()
            #expect(try refused.failure(1, "unavailable").contains("Exec format error"))
        }
    }
}
