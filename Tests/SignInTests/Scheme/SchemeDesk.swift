import Foundation
import LocalProvider

/// A desk in a session of its own: what a login makes, and the desktop's files, are the test's.
struct SchemeDesk: Sendable {
    static let uri = "oauthtest://oauth-callback"
    static let uriWithDomain = "de.7pass.example:/cb/authz"
    static let entry = "appauth-redirect-oauthtest.desktop"

    let desk: Desk

    /// Gives a test a provider that knows the client `7pass` with these redirect URIs.
    static func with(_ body: (SchemeDesk) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(
            RegisteredClient(id: "7pass", name: "7Pass", redirectURIs: [.exact(uri), .exact(uriWithDomain)]))
        try await withDesk(configuration) { desk in
            try FileManager.default.createDirectory(
                atPath: desk.home + "/run", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let scheme = SchemeDesk(desk: desk)
            try FileManager.default.copyItem(atPath: BuiltProducts.path("sign-in"), toPath: scheme.program)
            try await body(scheme)
        }
    }

    /// A bare session: xdg-open asks for a display by name only, and takes its own way where it finds no desktop.
    var session: [String: String?] {
        [
            "XDG_RUNTIME_DIR": desk.home + "/run", "XDG_DATA_HOME": desk.home + "/data",
            "XDG_CONFIG_HOME": desk.home + "/config", "XDG_DATA_DIRS": "/nowhere", "XDG_CONFIG_DIRS": "/nowhere",
            "DISPLAY": ":nowhere",
        ]
    }

    func login(_ uri: String = SchemeDesk.uri, _ more: String..., with changes: [String: String?] = [:]) throws
        -> ChildProcess
    {
        try desk.start(
            [program], desk.loginArguments(["--timeout", "30", "--redirect-uri", uri] + more, client: "7pass"),
            session.merging(changes) { $1 })
    }

    /// `sign-in` in the person's home, since xdg-open by itself starts no program whose path has a space, and this
    /// package may lie where it likes.
    var program: String { desk.home + "/sign-in" }

    /// Runs a program of the desktop's, as a person does in this session.
    func run(_ words: String...) async throws -> Outcome { try await desk.start(words, [], session).outcome() }

    /// What the library has left of a wait.
    var leftovers: [String] {
        ["run/appauth", "data/applications", "config"].flatMap { folder in
            ((try? FileManager.default.contentsOfDirectory(atPath: "\(desk.home)/\(folder)")) ?? [])
                .filter { !$0.hasSuffix(".lock") }.map { "\(folder)/\($0)" }
        }
    }
}
