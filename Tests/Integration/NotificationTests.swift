import Foundation
import TestFixtures
import Testing

extension Integration {
    /// The notifications of `sign-in watch` by the real notify-send: on a desktop, and in a sandbox of Flatpak, where libnotify
    /// asks the portal.
    @Suite(.serialized) struct Notifications {
        enum Place: String, CaseIterable, Sendable { case server, portal }

        @Test(arguments: Place.allCases)
        func `a notification says that a session has ended, and its button signs in`(place: Place) async throws {
            let screen = try HelperProcess(
                URL(filePath: "/usr/bin/python3"),
                [Places.setup.appending(path: "notifications.py").path, place.rawValue])
            let provider = try HelperProcess(
                Places.program("local-provider"), ["--exit-with-stdin", "--fault", "invalid-grant:1"])
            try await screen.beside {
                try await provider.beside {
                    let issuer = try await provider.line()
                    let user = try await User(bus: screen.report(Bus.self).bus)
                    let options = ["--issuer", issuer, "--client-id", "demo", "--profile", "work"]
                    #expect(try await user.signIn(["login"] + options).status == 0)
                    #expect(try await user.signIn(["token", "--profile", "work", "--force-refresh"]).status == 1)
                    let watch = try user.watch(inSandbox: place == .portal)
                    try await watch.beside {
                        let shown = try await screen.report(Shown.self)
                        #expect(shown.title == "work: sign in again" && shown.buttons == ["sign-in": "Sign in"])
                        #expect(shown.body.contains("no longer accepts"), "\(shown)")
                        screen.write("sign-in\n")
                        try await waitUntil { try await user.signIn(["token", "--profile", "work"]).status == 0 }
                    }
                }
            }
        }

        private struct Bus: Decodable { let bus: String }
        private struct Shown: Decodable {
            let title, body: String
            let buttons: [String: String]
        }
    }
}

/// A user with a home folder and a bus, whose browser signs in as alice.
private struct User {
    private let workspace: Workspace
    private let variables: [String: String]

    init(bus: String) throws {
        workspace = try Workspace()
        let programs = try Places.program("sign-in").deletingLastPathComponent().path
        variables = [
            "HOME": workspace.folder.path, "XDG_STATE_HOME": workspace.path("state"), "LANG": "C.UTF-8",
            "PATH": "\(programs):/usr/bin:/bin", "BROWSER": "scripted-browser",
            "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass", "DBUS_SESSION_BUS_ADDRESS": bus,
        ]
    }

    func signIn(_ arguments: [String]) async throws -> Program.Outcome {
        var program = try Program(executable: Places.program("sign-in"))
        program.environment = variables
        return try await program.run(arguments)
    }

    /// Starts `sign-in watch`, in a sandbox with all files of this system and the one by which programs know Flatpak's.
    func watch(inSandbox: Bool) throws -> HelperProcess {
        let info = try workspace.write("[Application]\nname=org.example.App\n", to: "flatpak-info")
        var sandbox: [String] = []
        if inSandbox {
            sandbox = ["bwrap"]
            for name in try FileManager.default.contentsOfDirectory(atPath: "/") {
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/\(name)")
                sandbox += target.map { ["--symlink", $0, "/\(name)"] } ?? ["--dev-bind", "/\(name)", "/\(name)"]
            }
            sandbox += ["--die-with-parent", "--ro-bind", info, "/.flatpak-info"]
        }
        let script = "\"$@\" & cat >/dev/null; kill -KILL $!; wait"
        return try HelperProcess(
            URL(filePath: "/usr/bin/env"),
            ["-i"] + variables.map { "\($0)=\($1)" } + ["sh", "-c", script, "sh"] + sandbox + ["sign-in", "watch"])
    }
}
