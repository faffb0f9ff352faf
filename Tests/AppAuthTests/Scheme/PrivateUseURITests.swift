import AppAuth
import Testing

/// Which redirect URIs an app may have a scheme of its own for.
@Suite(.timeLimit(.minutes(5)))
struct PrivateUseURITests {
    @Test(arguments: [
        "de.7pass.example:/cb/authz", "oauthtest://oauth-callback", "com.example.app:/", "a+b-c.1:/%7Eme/x;y=z",
    ])
    func `a scheme of the app's own is taken, with a dot or without`(uri: String) throws {
        #expect(try DesktopFixture.redirect(uri: uri).redirectURI == uri)
    }

    @Test(arguments: [
        "https://app.example/callback", "http://127.0.0.1/callback", "javascript:/alert(1)", "data:/text", "file:/etc",
        "mailto:/somebody", "view-source:/x", "xmpp:/room", "ws:/x",
    ])
    func `a scheme that belongs to others is refused, and named`(uri: String) throws {
        let error = try #require(throws: AuthError.self) { try DesktopFixture.redirect(uri: uri) }
        #expect(error.code == .invalidConfiguration)
        #expect(error.message.contains("app’s own") && error.message.contains(uri.prefix { $0 != ":" }))
    }

    @Test(arguments: [
        "", "com.example.app", ":/cb", "com.example.app:", "com.example.app:cb", "Com.example.app:/cb", "7.example:/cb",
        "com example:/cb", "com.exämple:/cb", "com.example.app:/cb?x=1", "com.example.app:/cb#x",
        "com.example.app:/c b",
        "com.example.app:/a/../cb", "com.example.app:/%7", "com.example.app:/cb\n", "com_example:/cb",
        String(repeating: "a", count: 129) + ":/cb",
    ])
    func `a URI that browsers would change is refused`(uri: String) throws {
        let error = try #require(throws: AuthError.self) { try DesktopFixture.redirect(uri: uri) }
        #expect(error.code == .invalidConfiguration)
    }

    @Test(arguments: [
        ("bin/true", [""]), ("/bin/a=b", [""]), ("/bin/true", ["\u{1B}[2J"]), ("/bin/true", ["a\nExec=b"]),
    ])
    func `a program that a desktop entry cannot name is refused`(program: String, arguments: [String]) throws {
        #expect(throws: AuthError.self) { try DesktopFixture.redirect(program: program, arguments: arguments) }
        _ = try DesktopFixture.redirect(program: "/bin/true", arguments: [""])
    }

    @Test func `without a program it is this one`() throws {
        let redirect = try PrivateUseRedirect(DesktopFixture.uri, appName: "Harbour", arguments: ["--redirect"])
        #expect(redirect.handler.first?.hasPrefix("/") == true && redirect.handler.last == "--redirect")
        #expect(redirect.handler.first?.contains("/proc/") == false)
    }
}
