import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import ScriptedBrowser

extension LocalProvider.User {
    /// A second user.
    static let bob = LocalProvider.User(name: "bob", password: "builder", subject: "bob")
}

extension CommandFixture {
    /// Stores the session that `sign-in login` stores, for a test of what comes after it. The library signs in within this
    /// process: the command and its browser, a process each, take ten times as long.
    ///
    /// - Parameter profile: The name of the session, which then remembers the options.
    func signIn(
        client: String = "demo", scope: String? = nil, profile: String? = nil, as user: LocalProvider.User = .alice
    ) async throws {
        let name = profile ?? FormParameters.encode("\(issuer) \(client)")
        let store = FileTokenStore(path: "\(sessions)/\(name).json")
        let transport = CurlTransport(CurlTransport.Configuration(proxy: .none))
        let configuration = try ClientConfiguration(
            issuer: Issuer(issuer), clientID: client, scope: scope.map([Scope].init(spaceDelimited:)),
            environment: Environment(transport: transport))
        var replaceable = await Replaceable(in: store)
        replaceable.profileID = profile.map { "id of \($0)" }
        let entries = ["username": user.name, "password": user.password]
        _ = try await withScriptedBrowser(entries: entries, transport: transport) { [replaceable] browser in
            var signIn = SignIn(configuration, appName: "sign-in")
            signIn.browser = browser
            signIn.observe = { _ in }
            signIn.replaceable = replaceable
            return try await signIn.run(store: store)
        }
        guard let profile else { return }
        let line = ["login", "--issuer", issuer, "--client-id", client] + (scope.map { ["--scope", $0] } ?? [])
        let path = "\(sessions)/\(profile).profile"
        let known: JSON = ["id": .string("id of \(profile)"), "sign_in": .array(line.map(JSON.string))]
        try Data((known.serialized() + "\n").utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }
}
