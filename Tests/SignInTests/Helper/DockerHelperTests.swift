import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// `sign-in helper docker`, by itself and called by the Docker client.
@Suite(.timeLimit(.minutes(5)))
struct DockerHelperTests {
    private static let options = ["--host", "registry.example.org", "--username", "zoe"]

    @Test(arguments: ["registry.example.org", "https://registry.example.org/v2/", "REGISTRY.example.org"])
    func `a named registry gets the token`(asked: String) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let token = try await fixture.run("token").output.dropLast()
            let outcome = try await fixture.helper("docker", Self.options + ["get"], input: asked + "\n").outcome()
            #expect(
                try outcome.result() == [
                    "ServerURL": .string(asked), "Username": "zoe", "Secret": .string(String(token)),
                ])
            let list = try await fixture.helper("docker", Self.options + ["list"], input: "").outcome()
            #expect(try list.result() == ["registry.example.org": "zoe"])
        }
    }

    @Test(arguments: ["other.example", "http://registry.example.org", "registry.example.org:5000", ""])
    func `another registry has no credentials`(asked: String) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let outcome = try await fixture.helper("docker", Self.options + ["get"], input: asked + "\n").outcome()
            // Docker compares the text.
            #expect(outcome.status == 1 && outcome.output == "credentials not found in native keychain\n", "\(outcome)")
        }
    }

    @Test func `passwords are not stored, and docker logout does not sign out`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            for operation in ["store", "erase"] {
                let outcome = try await fixture.helper("docker", Self.options + [operation], input: "{}").outcome()
                #expect(outcome.status == 1 && outcome.output.contains("use 'sign-in log"), "\(outcome)")
            }
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/local/bin/docker")))
    func `the Docker client sends the token to the registry`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let token = try await fixture.run("token").output.dropLast()
            // It needs no manifest to show what it gets: after the challenge, everything is missing.
            let server = try SimpleServer { request in
                request.basic == nil ? .basicChallenge : SimpleResponse(status: "404 Not Found")
            }
            defer { server.stop() }
            let program = "#!/bin/sh\nexec sign-in helper docker --host \(server.host) --profile work \"$@\"\n"
            try program.write(
                toFile: fixture.home + "/docker-credential-work", atomically: true, encoding: .utf8)
            chmod(fixture.home + "/docker-credential-work", 0o700)
            try #"{"credHelpers":{"\#(server.host)":"work"}}"#.write(
                toFile: fixture.home + "/config.json", atomically: true, encoding: .utf8)
            var environment = fixture.environment
            environment["PATH"] = "\(fixture.home):\(environment["PATH"] ?? ""):/usr/local/bin"
            let outcome = try await ChildProcess(
                [
                    "/usr/local/bin/docker", "--config", fixture.home, "manifest", "inspect", "--insecure",
                    "\(server.host)/a:1",
                ],
                environment: environment
            ).outcome()
            let sent = server.requests.last?.basic
            #expect(sent?.user == "oauth2" && sent?.password == String(token), "\(outcome)")
        }
    }
}
