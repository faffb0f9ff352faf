import Foundation
import TestFixtures
import Testing

private let canRunSystemd =
    geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/lib/systemd/systemd")
    && ["", "/unified", "/systemd"].contains { access("/sys/fs/cgroup\($0)/cgroup.procs", W_OK) == 0 }

extension Integration {
    /// The units of the package, and those of the article "Programs that cannot sign in", in a systemd that runs for a user.
    @Suite(
        .serialized,
        .enabled(if: canRunSystemd, "needs root, systemd, and control groups that can be written"))
    struct Units {
        @Test
        func `the unit of a profile keeps its session alive, and the one of an unknown profile is not started again`()
            async throws
        {
            let user = try Owner()
            for name in ["sign-in-watch.service", "sign-in-watch@.service"] {
                let unit = try String(
                    contentsOf: Places.root.appending(path: "Packaging/systemd/\(name)"), encoding: .utf8)
                try user.install(unit.replacing("/usr/bin/sign-in", with: "%h/.local/bin/sign-in"), as: name)
            }
            let provider = try HelperProcess(
                Places.program("local-provider"), ["--exit-with-stdin", "--access-token-lifetime", "10"])
            try await provider.beside {
                let options = try await ["--issuer", provider.line(), "--client-id", "demo", "--profile", "work"]
                #expect(try await user.signIn(["login"] + options).status == 0)
                let systemd = try user.systemd()
                try await systemd.beside {
                    _ = try await systemd.report(Runtime.self)
                    for unit in ["sign-in-watch@work.service", "sign-in-watch.service"] {
                        let before = try user.session("work")
                        try await ask(systemd, "start \(unit)")
                        try await waitUntil { try user.session("work") != before }
                        #expect(
                            try await ask(systemd, "show \(unit) -p ActiveState -p NRestarts")
                                == "NRestarts=0\nActiveState=active\n")
                        try await ask(systemd, "stop \(unit)")
                        // systemd forgets a unit that has ended well, and keeps one that has not.
                        #expect(try await ask(systemd, "show \(unit) -p Result") == "Result=success\n")
                    }
                    try await ask(systemd, "start sign-in-watch@nobody.service")
                    try await waitUntil {
                        try await ask(systemd, "show sign-in-watch@nobody.service -p ActiveState -p ExecMainStatus")
                            == "ExecMainStatus=2\nActiveState=failed\n"
                    }
                }
            }
        }

        @Test
        func `a proxy starts with the first request, tells before the sign-in how to sign in, and goes on after it`()
            async throws
        {
            let user = try Owner()
            let provider = try HelperProcess(Places.program("local-provider"), ["--exit-with-stdin"])
            try await provider.beside {
                let issuer = try await provider.line()
                let units = try blocks(
                    below: "A service that starts with the first request", of: "ProgramsThatCannotSignIn",
                    at: ["https://api.example.org/v1/": "\(issuer)/api/"])
                for (text, name) in zip(units, ["work-api.socket", "work-api.service"]) {
                    try user.install(text, as: name)
                }
                let systemd = try user.systemd()
                try await systemd.beside {
                    let socket = try await systemd.report(Runtime.self).runtime + "/work-api"
                    // As the last block says.
                    try await ask(systemd, "enable --now work-api.socket")
                    func request() async throws -> String {
                        try await Program.named("curl").run([
                            "-s", "-w", "\n%{http_code}", "--unix-socket", socket, "http://localhost/api/echo",
                        ]).output
                    }
                    for _ in 0..<2 {
                        let refused = try await request()
                        #expect(refused.hasSuffix("\n503") && refused.contains("sign_in_required"), "\(refused)")
                        #expect(refused.contains("sign in with --profile work"), "\(refused)")
                    }
                    let options = ["--issuer", issuer, "--client-id", "demo", "--profile", "work"]
                    #expect(try await user.signIn(["login"] + options).status == 0)
                    #expect(try await request().hasSuffix("\n200"))
                    #expect(try await ask(systemd, "show work-api.service -p NRestarts") == "NRestarts=0\n")
                    try await ask(systemd, "stop work-api.service")
                    // The socket is still there, and starts it again.
                    #expect(try await request().hasSuffix("\n200"))
                }
            }
        }

        /// Runs a command of systemctl, and returns its output.
        @discardableResult
        private func ask(_ systemd: HelperProcess, _ command: String) async throws -> String {
            systemd.write(command + "\n")
            let result = try await systemd.report(Result.self)
            #expect(result.status == 0, "\(command): \(result.output)")
            return result.output
        }

        private struct Runtime: Decodable { let runtime: String }
        private struct Result: Decodable { let status: Int, output: String }
    }
}

/// A user with a home folder and units in it, whose browser signs in as alice.
private struct Owner {
    private let workspace: Workspace
    private let variables: [String: String]

    init() throws {
        workspace = try Workspace()
        // Units cannot name a path with a blank without quotes.
        let folder = workspace.path(".local/bin")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: folder + "/sign-in", withDestinationPath: Places.program("sign-in").path)
        let programs = try Places.program("sign-in").deletingLastPathComponent().path
        variables = [
            "HOME": workspace.folder.path, "LANG": "C.UTF-8", "PATH": "\(programs):/usr/bin:/bin",
            "BROWSER": "scripted-browser",
            "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass",
        ]
    }

    func install(_ unit: String, as name: String) throws {
        _ = try workspace.write(unit, to: ".config/systemd/user/\(name)")
    }

    func signIn(_ arguments: [String]) async throws -> Program.Outcome {
        var program = try Program(executable: Places.program("sign-in"))
        program.environment = variables
        return try await program.run(arguments)
    }

    /// Returns the stored session of a profile.
    func session(_ profile: String) throws -> Data {
        try Data(contentsOf: workspace.folder.appending(path: ".local/state/sign-in/\(profile).json"))
    }

    func systemd() throws -> HelperProcess {
        try HelperProcess(
            URL(filePath: "/usr/bin/env"),
            ["-i"] + variables.map { "\($0)=\($1)" }
                + ["python3", Places.setup.appending(path: "user_systemd.py").path, workspace.folder.path])
    }
}
