import AppAuth
import AppAuthProtocol
import Foundation
import Glibc
import TestFixtures
import Testing

/// Where the session of an app is stored that names no path (XDG Base Directory Specification).
struct AppStoresTests {
    @Test(arguments: [
        (["XDG_STATE_HOME": "/state", "HOME": "/home/jane"], "/state/org.example.App/session.json"),
        (["HOME": "/home/jane"], "/home/jane/.local/state/org.example.App/session.json"),
        (["XDG_STATE_HOME": "", "HOME": "/home/jane"], "/home/jane/.local/state/org.example.App/session.json"),
        (["XDG_STATE_HOME": "state", "HOME": "/home/jane"], "/home/jane/.local/state/org.example.App/session.json"),
    ])
    func `the folder of the user's state has one for the app`(variables: [String: String], path: String) throws {
        let store = try FileTokenStore(appID: "org.example.App") { variables[$0] }
        #expect(store.path == path)
    }

    /// In a process of its own, since all of a process has one environment.
    @Test func `without HOME, the home folder is the one in the user database`() async {
        await #expect(processExitsWith: .success) {
            unsetenv("HOME")
            let user = try #require(getpwuid(geteuid()))
            let store = try FileTokenStore(appID: "org.example.App") { _ in nil }
            let home = String(cString: user.pointee.pw_dir)
            try #require(store.path == home + "/.local/state/org.example.App/session.json")
        }
    }

    @Test(arguments: ["", ".", "..", "a/b", "../x", "a\0b"])
    func `an ID that cannot be the name of a folder is refused`(id: String) async {
        let error = await authError { try FileTokenStore(appID: id) { _ in "/home/jane" } }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `a sign-in has the keyring's entry of its client at its issuer`() async throws {
        let signIn = SignIn(issuer: "https://op.example", clientID: "app", appName: "App")
        let store = signIn.keyringStore(application: "org.example.App")
        let expected = KeyringTokenStore(
            application: "org.example.App", issuer: "https://op.example", clientID: "app")
        #expect(store.location == expected.location && store.label == expected.label)
    }

    /// In a process of its own, since all of a process has one environment.
    @Test func `a sign-in chooses the keyring, or the app's file, and says which in a few words`() async {
        await #expect(processExitsWith: .success) {
            for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "DISPLAY", "XDG_CACHE_HOME"] { unsetenv(name) }
            let home = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
            try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(atPath: home) }
            setenv("HOME", home, 1)
            setenv("XDG_STATE_HOME", "/nonexistent", 1)
            let signIn = SignIn(issuer: "https://op.example", clientID: "app", appName: "App")
            let choice = try await signIn.keyringOrFile(appID: "org.example.App")
            try #require(!choice.isKeyring)
            let reason = ["there is no session bus", "libsecret is not installed"]
            let path = "/nonexistent/org.example.App/session.json"
            try #require(reason.contains { "\(choice)" == "\(path), since \($0)" }, "\(choice)")
            // With sudo, it can be the home of another user.
            try #require(try FileManager.default.contentsOfDirectory(atPath: home) == [])
        }
    }

    @Test func `unless the app says otherwise, a keyring may prompt, for 30 s`() {
        let store = KeyringTokenStore(application: "org.example.App", account: "jane", label: "Jane")
        #expect(store.mayPrompt && store.promptTimeout == .seconds(30) && store.lockTimeout == .seconds(10))
    }
}
