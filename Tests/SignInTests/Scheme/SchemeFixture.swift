import Foundation
import AppAuthTestProvider
import TestFixtures

/// A fixture in a login session of its own, with its own desktop files.
struct SchemeFixture: Sendable {
    static let uri = "oauthtest://oauth-callback"
    static let uriWithDomain = "de.7pass.example:/cb/authz"
    static let entry = "appauth-redirect-oauthtest.desktop"

    let fixture: CommandFixture

    /// Gives a test a provider that knows the client `7pass` with these redirect URIs.
    static func with(_ body: (SchemeFixture) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(
            RegisteredClient(id: "7pass", name: "7Pass", redirectURIs: [.exact(uri), .exact(uriWithDomain)]))
        try await withDesk(configuration) { fixture in
            try FileManager.default.createDirectory(
                atPath: fixture.home + "/run", withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            let scheme = SchemeFixture(fixture: fixture)
            try await ProgramFile.copy(BuiltProducts.path("sign-in"), to: scheme.program)
            try await body(scheme)
        }
    }

    /// A bare session: xdg-open asks for a display by name only, and takes its own way where it finds no desktop.
    var session: [String: String?] {
        [
            "XDG_RUNTIME_DIR": fixture.home + "/run", "XDG_DATA_HOME": fixture.home + "/data",
            "XDG_CONFIG_HOME": fixture.home + "/config", "XDG_DATA_DIRS": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere",
            "DISPLAY": ":nowhere",
        ]
    }

    func login(_ uri: String = SchemeFixture.uri, _ more: String..., with changes: [String: String?] = [:]) throws
        -> ChildProcess
    {
        try fixture.start(
            [program], fixture.loginArguments(["--timeout", "30", "--redirect-uri", uri] + more, client: "7pass"),
            session.merging(changes) { $1 })
    }

    /// `sign-in` in the user's home: xdg-open starts no program whose path has a space, and this package's path may
    /// have one.
    var program: String { fixture.home + "/sign-in" }

    /// Runs a program of the desktop, as a user does in this session.
    func run(_ words: String...) async throws -> Outcome { try await fixture.start(words, [], session).outcome() }

    /// The remains of a wait.
    var leftovers: [String] {
        ["run/appauth", "data/applications", "config"].flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: "\(fixture.home)/\(folder)")) ?? [])
                .filter { !$0.hasSuffix(".lock") }.map { "\(folder)/\($0)" }
        }
    }
}
