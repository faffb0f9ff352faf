import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// Somebody pastes a line of the output into a shell, where a name that a server has chosen would be a command.
@Suite(.timeLimit(.minutes(5)))
struct PastedOutputTests {
    /// Runs a line in each shell.
    private static let shells = """
        cd "$1"; dash -c "$2"; bash --norc -c "$2"; zsh -f -c "$2"; fish --no-config -c "$2"; true
        """

    /// What the shells make of a line: the files that it creates.
    private func files(createdBy line: String, in folder: String, _ home: String) async throws -> [String] {
        let environment = ["PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8"]
        _ = try await ChildProcess(["/bin/sh", "-c", Self.shells, "sh", folder, line], environment: environment)
            .outcome()
        return try FileManager.default.contentsOfDirectory(atPath: folder)
    }

    /// One command, one with an argument, and one that is still a command in quotes.
    @Test(arguments: ["touch", "touch M", "/usr/bin/touch"])
    func `no line of output runs a name of a server`(name: String) async throws {
        let filler = String(repeating: "a", count: 70)
        let long = RegisteredClient(
            id: "\(name) \(filler)", redirectURIs: [.anyLoopback], grantTypes: RegisteredClient.demo.grantTypes)
        var configuration = LocalProvider.Configuration.device
        configuration.clients.append(long)
        configuration.users[0].subject = name
        for claim in ["name", "preferred_username", "email"] { configuration.users[0].claims[claim] = .string(name) }
        configuration.users.append(.init(name: "bob", password: "builder", claims: ["name": .string("\(name) N")]))
        try await withDesk(configuration) { fixture in
            var outcomes: [Outcome] = []
            for client in ["demo", long.id] {
                outcomes.append(
                    try await fixture.run(
                        "login", "--issuer", fixture.issuer, "--client-id", client, "--profile", "p\(outcomes.count)"))
            }
            outcomes.append(try await fixture.run("login", "--issuer", fixture.issuer, "--client-id", "demo"))
            #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes)")
            // Another user, who may not replace the session.
            outcomes.append(
                try await fixture.run(
                    "login", "--issuer", fixture.issuer, "--client-id", "demo", "--profile", "p0",
                    with: CommandFixture.bob))
            #expect(outcomes.last?.errors.contains("another user") == true, "\(outcomes)")
            outcomes.append(try await fixture.run("status"))
            #expect(outcomes.last?.output.contains(name) == true, "\(outcomes)")
            outcomes.append(try await fixture.run("doctor", "--issuer", fixture.issuer, "--client-id", "demo"))
            // RFC 8628 §6.1: a user code may have spaces, and no slash.
            fixture.provider.fault(
                .editDocument { $0["user_code"] = .string(name.replacing("/", with: "-")) }, at: .deviceAuthorization)
            let device = try fixture.start(["device", "--issuer", fixture.issuer, "--client-id", "demo"])
            _ = try await device.line { $0.hasPrefix("Or open this page") }
            device.send(SIGINT)
            outcomes.append(try await device.outcome())

            let folder = fixture.home + "/pasted"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            #expect(try await files(createdBy: "touch before", in: folder, fixture.home) == ["before"])
            for line in Set(outcomes.flatMap { $0.outputLines + $0.errorLines }) where !line.isEmpty {
                #expect(try await files(createdBy: line, in: folder, fixture.home) == ["before"], "\(line)")
            }
        }
    }
}
