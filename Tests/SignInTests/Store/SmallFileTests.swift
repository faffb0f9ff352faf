import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// The small files of the state folder get the care that a session gets.
@Suite(.timeLimit(.minutes(5)))
struct SmallFileTests {
    private func move(_ path: String, to target: String) throws {
        try FileManager.default.moveItem(atPath: path, toPath: target)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test(arguments: [
        ["use", "work", "--json"], ["register", "--redirect-uri", "http://127.0.0.1/callback", "--issuer"],
    ])
    func `a choice of profile, or a registered client, is on the disk before the command ends`(line: [String])
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let injector = try await FaultInjector(fixture)
            let points = try await injector.start(line + (line[0] == "register" ? [fixture.issuer] : [])).outcome()
                .points
            let written = points.drop { $0 != "write session.new" }.prefix(6)
            #expect(
                written.prefix(4) == [
                    "write session.new", "write the rest of session.new", "synchronise session.new",
                    "rename session.new",
                ], "\(points)")
            // The folder of the clients is within that of the sessions.
            let folder = line[0] == "use" ? "folder" : "session"
            #expect(written.dropFirst(4) == ["open \(folder)", "synchronise \(folder)"], "\(points)")
        }
    }

    @Test func `a profile, a choice and a registered client are written through a link`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            _ = try await fixture.run("use", "work", "--json").result()
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            _ = try await fixture.start(register).outcome().result()
            let client = try #require(
                FileManager.default.contentsOfDirectory(atPath: fixture.sessions + "/clients").first {
                    $0.hasSuffix(".json")
                })
            let names = ["work.profile", "profile-in-use", "clients/\(client)", "work.json"]
            let dotfiles = fixture.home + "/dotfiles"
            try FileManager.default.createDirectory(
                atPath: dotfiles + "/clients", withIntermediateDirectories: true)
            for name in names { try move("\(fixture.sessions)/\(name)", to: "\(dotfiles)/\(name)") }
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
            _ = try await fixture.login("--profile", "work", "--scope", "openid").result()
            _ = try await fixture.run("use", "work", "--json").result()
            for name in names {
                let path = "\(fixture.sessions)/\(name)"
                #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == "\(dotfiles)/\(name)")
            }
            let profile = try String(contentsOfFile: dotfiles + "/work.profile", encoding: .utf8)
            #expect(profile.contains(#""--scope","openid""#), "\(profile)")
        }
    }

    @Test func `a link that may not be followed is refused and not replaced, with a remedy that works`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let (path, target) = (fixture.sessions + "/profile-in-use", fixture.home + "/target")
            _ = try await fixture.run("use", "work", "--json").result()
            try move(path, to: target)
            chmod(target, 0o644)
            var message = ""
            for command in [["token", "--json"], ["use", "work", "--json"]] {
                message = try await fixture.start(command).outcome().failure(1, "store")
                #expect(message.hasPrefix("\(path) is a symbolic link to \(target): expected "), "\(message)")
            }
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
            let line = try #require(message.components(separatedBy: ": ").last)
            #expect(try await fixture.start(["sh", "-c", line], []).outcome().status == 0, "\(line)")
            _ = try await fixture.run("use", "work", "--json").result()
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test func `names that differ only in capital letters are not one session`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(profile: "work")
            let library = try await FaultInjector.library("caseless", for: fixture)
            let caseless = ["LD_PRELOAD": library, "CASELESS_FOLDER": fixture.sessions]
            let before = try Data(contentsOf: URL(filePath: fixture.sessions + "/work.json"))
            func run(_ arguments: String...) async throws -> Outcome {
                try await fixture.start(arguments + ["--json"], caseless.merging(CommandFixture.bob) { $1 }).outcome()
            }
            _ = try await run("token", "--profile", "work").result()
            for command in [["token"], ["login", "--issuer", fixture.issuer, "--client-id", "demo"], ["logout"]] {
                let outcome = try await fixture.start(
                    command + ["--json", "--profile", "Work"], caseless.merging(CommandFixture.bob) { $1 }
                ).outcome()
                let message = try outcome.failure(1, "store")
                #expect(message.contains("the same file as work."), "\(command): \(message)")
            }
            #expect(try Data(contentsOf: URL(filePath: fixture.sessions + "/work.json")) == before)
            #expect(fixture.stored == ["work.json", "work.profile"])
        }
    }
}
