import Foundation
import Testing

extension Integration {
    /// A private-use scheme, from a real browser, through the desktop's own programs, to the app.
    @Suite struct SchemeRedirect {
        /// By xdg-open itself, and by gio, which it leaves it to in GNOME.
        @Test(arguments: [("oauthtest://oauth-callback", ""), ("de.7pass.example:/cb/authz", "GNOME")])
        func `Chromium hands the redirect to the desktop, and the desktop to the sign-in that waits`(
            uri: String, desktop: String
        ) async throws {
            let session = try Session(desktop: desktop)
            let provider = try HelperProcess(
                Places.program("local-provider"), ["--exit-with-stdin", "--redirect-uri", uri])
            try await provider.beside {
                let issuer = try await provider.line()
                let browser = try session.browser(at: issuer, scheme: String(uri.prefix { $0 != ":" }))
                try await browser.beside {
                    let opener = try await browser.report(Opener.self).browser
                    let outcome = try await session.signIn(
                        at: issuer,
                        [
                            "login", "--redirect-uri", uri, "--timeout", "60", "--json",
                        ], browser: opener)
                    try #require(outcome.status == 0, "\(outcome)")
                    #expect(try outcome.json(SignIn.Login.self).idTokenClaims.name == "Alice Liddell", "\(outcome)")
                }
            }
            #expect(try session.leftovers().isEmpty)
        }

        /// The redirect itself goes to loopback. Facebook's response comes by a scheme that the app handles during the
        /// sign-in.
        @Test func `Chromium hands Facebook's response to the desktop, and the 7Pass sign-in continues`() async throws {
            let session = try Session(desktop: "GNOME")
            let provider = try HelperProcess(
                Places.program("local-provider"), ["--exit-with-stdin", "--double", "seven-pass"])
            try await provider.beside {
                let double = try await provider.report(Announcement.self)
                let browser = try session.browser(
                    at: double.facebookURL, scheme: "fb" + double.facebookAppID, choosing: "facebook")
                try await browser.beside {
                    let outcome = try await session.run(
                        "seven-pass",
                        [
                            "sign-in", "me", "--facebook", "--server", double.issuer, "--client-id", "seven-pass-app",
                            "--api-base", double.apiBase, "--external-callback", double.externalCallback,
                        ], browser: try await browser.report(Opener.self).browser)
                    try #require(outcome.status == 0, "\(outcome)")
                    #expect(outcome.output.contains("Facebook has responded"), "\(outcome)")
                    #expect(outcome.output.contains("email: alice@example.com"), "\(outcome)")
                }
            }
            #expect(try session.leftovers().isEmpty)
        }

        private struct Announcement: Decodable {
            let issuer, apiBase, externalCallback, facebookURL, facebookAppID: String

            enum CodingKeys: String, CodingKey {
                case issuer, apiBase = "api_base", externalCallback = "external_callback"
                case facebookURL = "facebook_url", facebookAppID = "facebook_app_id"
            }
        }

        private struct Opener: Decodable {
            let browser: String
        }
    }
}

/// A user's session with a desktop, whose files are in a folder of the test's own.
private struct Session {
    private let workspace: Workspace
    private let variables: [String: String]

    init(desktop: String) throws {
        workspace = try Workspace()
        let folder = workspace.folder
        let runtime = folder.appending(path: "run")
        try FileManager.default.createDirectory(
            at: runtime, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        variables = [
            "HOME": folder.path, "XDG_RUNTIME_DIR": runtime.path, "XDG_DATA_HOME": folder.appending(path: "data").path,
            "XDG_CONFIG_HOME": folder.appending(path: "config").path, "XDG_STATE_HOME": folder.path,
            "XDG_CURRENT_DESKTOP": desktop, "DESKTOP_SESSION": "", "DBUS_SESSION_BUS_ADDRESS": "disabled:",
        ]
    }

    /// Chromium with a window in this session.
    func browser(at issuer: String, scheme: String, choosing choice: String? = nil) throws -> HelperProcess {
        let command =
            [
                Places.setup.appending(path: "python").path, Places.cache.appending(path: "venv").path,
                Places.setup.appending(path: "desktop_browser.py").path, issuer, "alice", "looking-glass", scheme,
            ] + [choice].compactMap(\.self)
        return try HelperProcess(URL(filePath: "/usr/bin/env"), variables.map { "\($0.key)=\($0.value)" } + command)
    }

    func signIn(at issuer: String, _ arguments: [String], browser: String) async throws -> Program.Outcome {
        try await run(
            "sign-in", arguments + ["--issuer", issuer, "--client-id", "demo", "--store", "memory"], browser: browser)
    }

    func run(_ name: String, _ arguments: [String], browser: String) async throws -> Program.Outcome {
        // xdg-open by itself starts no program whose path has a space, and this package may lie where it likes.
        let copy = workspace.folder.appending(path: "app-" + name)
        try FileManager.default.copyItem(at: Places.program(name), to: copy)
        var program = Program(executable: copy)
        program.environment.merge(variables) { $1 }
        program.environment["BROWSER"] = browser
        return try await program.run(arguments)
    }

    /// The remains of the library: sockets, desktop entries, and a list of defaults.
    func leftovers() throws -> [String] {
        let all = try FileManager.default.subpathsOfDirectory(atPath: workspace.folder.path)
        return all.filter {
            $0.hasPrefix("run/appauth/") && !$0.hasSuffix(".lock") || $0.hasSuffix(".desktop")
                || $0.hasSuffix("mimeapps.list")
        }
    }
}
