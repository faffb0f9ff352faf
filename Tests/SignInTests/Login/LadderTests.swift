import Foundation
import JOSE
import Testing

/// The rungs of the ladder, each a real program by its real name, in a `PATH` that has no others.
@Suite(.timeLimit(.minutes(5)))
struct LadderTests {
    /// Signs in with these programs as openers; the working ones run the scripted browser.
    private func login(
        _ fixture: CommandFixture, _ openers: [String: String], _ changes: [String: String?] = ["DISPLAY": ":99"]
    ) async throws -> Outcome {
        try await start(fixture, openers, changes).outcome()
    }

    private func start(
        _ fixture: CommandFixture, _ openers: [String: String], _ changes: [String: String?]
    ) throws -> ChildProcess {
        let folder = fixture.home + "/openers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for (name, program) in openers {
            try FileManager.default.createSymbolicLink(atPath: "\(folder)/\(name)", withDestinationPath: program)
        }
        let environment: [String: String?] = ["BROWSER": nil, "PATH": folder]
        return try fixture.start(fixture.loginArguments([]), environment.merging(changes) { $1 })
    }

    private static let fails = "/bin/false"

    @Test func `xdg-open is the first on a desktop`() async throws {
        try await withDesk { fixture in
            let browser = try BuiltProducts.path("scripted-browser")
            let openers = ["xdg-open": browser, "gio": browser, "wslview": browser]
            let outcome = try await login(fixture, openers)
            _ = try outcome.result()
            #expect(fixture.browser.visits.map { $0.first } == ["xdg-open"])
            #expect(!outcome.errors.contains("paste") && !outcome.errors.contains("No browser"))
        }
    }

    @Test func `gio is next if xdg-open fails at once or is missing`() async throws {
        try await withDesk { fixture in
            let browser = try BuiltProducts.path("scripted-browser")
            _ = try await login(fixture, ["xdg-open": Self.fails, "gio": browser]).result()
            _ = try await login(fixture, ["gio": browser, "wslview": browser]).result()
            #expect(fixture.browser.visits.map { Array($0.prefix(2)) } == [["gio", "open"], ["gio", "open"]])
        }
    }

    @Test func `wslview is the first under WSL, with and without a display`() async throws {
        try await withDesk { fixture in
            let browser = try BuiltProducts.path("scripted-browser")
            let openers = ["xdg-open": browser, "wslview": browser]
            _ = try await login(fixture, openers, ["WSL_DISTRO_NAME": "Debian"]).result()
            _ = try await login(fixture, openers, ["WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"]).result()
            #expect(fixture.browser.visits.map { $0.first } == ["wslview", "wslview"])
        }
    }

    @Test func `in a Snap xdg-open asks the portal, without a display`() async throws {
        try await withDesk { fixture in
            let openers = ["xdg-open": try BuiltProducts.path("scripted-browser")]
            _ = try await login(fixture, openers, ["SNAP": "/snap/app/1"]).result()
            #expect(fixture.browser.visits.map { $0.first } == ["xdg-open"])
        }
    }

    @Test(
        arguments: [
            (["DISPLAY": ":99"], "xdg-open (exit status 1), gio (No such file or directory)"),
            ([:], "there is no display"),
            (["DISPLAY": ":99", "SUDO_UID": "\(geteuid() + 1)"], "as another user"),
            (["DISPLAY": ":99", "BROWSER": "w3m:/usr/bin/lynx %s"], "w3m is a browser for the terminal"),
            (["SSH_TTY": "/dev/pts/0"], "this is an SSH session"),
        ] as [([String: String], String)])
    func `failed browsers and obstacles are reported, and the sign-in continues`(
        _ changes: [String: String], _ what: String
    ) async throws {
        try await withDesk { fixture in
            let process = try start(fixture, ["xdg-open": Self.fails, "w3m": "/bin/true"], changes.mapValues { $0 })
            let redirects = try await Redirects(process)
            let line = try await process.line { $0.hasPrefix("No browser could be started: ") }
            #expect(line.contains(what) && line.hasSuffix(". Open the URL above in a browser."), "\(line)")
            try await redirects.signIn()
            _ = try await process.outcome().result()
        }
    }

    @Test func `over SSH with a display a browser is started, with a note about forwarding`() async throws {
        try await withDesk { fixture in
            let openers = ["xdg-open": try BuiltProducts.path("scripted-browser")]
            let outcome = try await login(fixture, openers, ["DISPLAY": "localhost:10.0", "SSH_TTY": "/dev/pts/0"])
            _ = try outcome.result()
            #expect(outcome.errorLines.contains { $0.hasPrefix("This is an SSH session: ") }, "\(outcome.errors)")
            #expect(outcome.errorLines.contains { $0.hasSuffix("write it to standard input.") })
            #expect(fixture.browser.visits.count == 1)
        }
    }

    @Test func `BROWSER is started by sudo and without a display`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login(with: ["SUDO_UID": "\(geteuid() + 1)", "DISPLAY": nil]).result()
            #expect(fixture.browser.visits.count == 1)
        }
    }
}
