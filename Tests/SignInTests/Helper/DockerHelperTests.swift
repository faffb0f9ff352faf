import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// `sign-in helper docker`, by itself and called by the Docker client.
@Suite(.timeLimit(.minutes(5)))
struct DockerHelperTests {
    private static let options = ["--host", "registry.example.org", "--username", "zoe", "--profile", "work"]
    private static let docker = ["/usr/bin/docker", "/usr/local/bin/docker"]
        .first(where: FileManager.default.isExecutableFile)

    @Test(arguments: ["registry.example.org", "https://registry.example.org/v2/", "REGISTRY.example.org"])
    func `a named registry gets the token`(asked: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
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

    @Test(arguments: [
        "other.example", "http://registry.example.org", "registry.example.org:5000", "",
        "registry.example.org\r", "registry.example.org\nother.example", "other.example\nregistry.example.org",
    ])
    func `another registry has no credentials`(asked: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let outcome = try await fixture.helper("docker", Self.options + ["get"], input: asked + "\n").outcome()
            // Docker compares the text.
            #expect(outcome.status == 1 && outcome.output == "credentials not found in native keychain\n", "\(outcome)")
        }
    }

    /// Docker uses http, too, for a name that leads to this machine.
    @Test(
        .enabled("this system allows no mounts (unshare --mount)") {
            try await Namespace.isPossible(Namespace.replacing("/etc/hosts", by: "/etc/hosts"))
        },
        arguments: [
            ("127.0.1.1 other registry.test # comment", false), ("192.0.2.1 registry.test", true),
            ("::1 Registry.TEST", false), ("# 127.0.0.1 registry.test", true),
            ("# hosts\r\n127.0.1.1 registry.test\r", false), ("127.0.1.1 registry.test #\u{301}", false),
            ("127.0.1.1 registry.test.", false), ("::1%lo registry.test", false),
            ("BLOCKED 127.0.1.1 registry.test", false),
        ])
    func `a name of this machine gets no token while no server listens there`(line: String, isFar: Bool) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let hosts = fixture.home + "/hosts"
            // Lists of blocked hosts have megabytes.
            let blocked = String(repeating: "0.0.0.0 blocked.test\n", count: 100_000)
            try "127.0.0.1 localhost\n\(line.replacing("BLOCKED ", with: blocked))\n".write(
                toFile: hosts, atomically: true, encoding: .utf8)
            let outcome = try await fixture.helper(
                "docker", ["--host", "registry.test:1", "--profile", "work", "get"], input: "registry.test:1\n",
                under: Namespace.replacing("/etc/hosts", by: hosts)
            ).outcome()
            #expect(outcome.status == (isFar ? 0 : 1) && outcome.output.contains("Secret") == isFar, "\(outcome)")
            #expect(outcome.errors.contains("no server listens at each address of registry.test:1") != isFar)
        }
    }

    @Test func `passwords are not stored, and docker logout does not sign out`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            for operation in ["store", "erase"] {
                let outcome = try await fixture.helper("docker", Self.options + [operation], input: "{}").outcome()
                #expect(outcome.status == 1 && outcome.output.contains("use 'sign-in log"), "\(outcome)")
            }
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test(.enabled(if: docker != nil))
    func `the Docker client reads a manifest from a registry that accepts the token`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let token = try await fixture.run("token").output.dropLast()
            let type = "application/vnd.docker.distribution.manifest.v2+json"
            let image: JSON = ["architecture": "amd64", "os": "linux"]
            let hash = Digest.sha256.hash(image.serialized()).map { String(format: "%02x", $0) }.joined()
            let configuration: JSON = [
                "mediaType": "application/vnd.docker.container.image.v1+json", "digest": .string("sha256:\(hash)"),
                "size": .number(.init(image.serialized().utf8.count)),
            ]
            let manifest: JSON = [
                "schemaVersion": 2, "mediaType": .string(type), "config": configuration, "layers": [],
            ]
            let server = try SimpleServer { request in
                guard let given = request.basic, given == ("oauth2", String(token)) else { return .basicChallenge }
                let document = request.target.hasSuffix(hash) ? image : manifest
                return SimpleResponse(headers: [("Content-Type", type)], body: Array(document.serialized().utf8))
            }
            defer { server.stop() }
            try await ProgramFile.write(
                "#!/bin/sh\nexec sign-in helper docker --host \(server.host) --profile work \"$@\"\n",
                to: fixture.home + "/docker-credential-work")
            try #"{"credHelpers":{"\#(server.host)":"work"}}"#.write(
                toFile: fixture.home + "/config.json", atomically: true, encoding: .utf8)
            var environment = fixture.environment
            environment["PATH"] = "\(fixture.home):\(environment["PATH"] ?? ""):/usr/local/bin"
            let outcome = try await ChildProcess(
                [
                    try #require(Self.docker), "--config", fixture.home, "manifest", "inspect", "--insecure",
                    "\(server.host)/a:1",
                ],
                environment: environment
            ).outcome()
            #expect(outcome.status == 0 && outcome.output.contains(hash), "\(outcome)")
        }
    }
}
