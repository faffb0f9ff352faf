internal import AppAuthLegacy
internal import ArgumentParser
internal import FoundationEssentials
internal import HTTPTypes
internal import SampleSupport

/// `opro`: signs in with a name and a password, stays signed in, and works with the user.
@main
struct OProSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case signIn = "sign-in", show, update, post, delete, randomUser = "random-user", refresh, test
        case signOut = "sign-out"
    }

    static let configuration = CommandConfiguration(
        commandName: "opro", abstract: "Signs in at oPRO's demo, and works with the user.",
        discussion: """
            Does the actions in their order, against a double of oPRO on this machine, which it starts and ends, unless \
            --server names another. The tokens are in a file, and each action reads them from there: who starts the \
            program again is still signed in.
            """)

    @Argument(help: "What to do.")
    var actions: [Action] = [.signIn, .show, .update, .refresh, .test, .signIn, .randomUser, .show]
    @Option(name: .customLong("set"), help: "What update and post change, as name=value: email, twitter or zip.")
    var changes = ["twitter=red_slippers", "zip=66605"]
    @Flag(help: "Use a double of oPRO. The default.") var demo = false
    @Option(help: "A real server.") var server: String?
    @Option(name: .customLong("client-id"), help: "The client id there.") var clientID: String?
    @Option(name: .customLong("client-secret-file"), help: "A file that holds the client's secret.")
    var secretFile: String?
    @Option(help: "Who signs in there.") var username: String?
    @Option(name: .customLong("password-file"), help: "A file that holds the password.") var passwordFile: String?

    func validate() throws {
        guard (server != nil) == (clientID != nil), (server != nil) == (secretFile != nil) else {
            throw ValidationError("expected --server, --client-id and --client-secret-file together")
        }
        guard (username != nil) == (passwordFile != nil), username == nil || server != nil else {
            throw ValidationError("expected --username and --password-file together, with --server")
        }
        if demo, server != nil { throw ValidationError("expected --demo or --server, found both") }
        guard changes.allSatisfy({ $0.dropFirst().contains("=") }) else {
            throw ValidationError("--set: expected name=value")
        }
    }

    func run() async throws {
        if let server, let clientID, let secretFile {
            let person = try username.flatMap { name in
                try passwordFile.map { Person(name: name, password: try PrivateFile.secret($0)) }
            }
            return try await perform(
                Users(
                    server: server, clientID: clientID, secret: PrivateFile.secret(secretFile), person: person,
                    store: StateFile.store("opro")))
        }
        let double = try DemoServer(double: "opro")
        defer { double.end() }
        let demo = try await double.demo()
        func text(_ name: String) -> String { demo[name]?.string ?? "" }
        tell("A double of oPRO is listening on this machine: \(text("base_url"))")
        let folder = FileManager.default.temporaryDirectory.appending(component: "opro-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await perform(
            Users(
                server: text("base_url"), clientID: text("client_id"), secret: Secret(text("client_secret")),
                person: Person(name: text("username"), password: Secret(text("password"))),
                store: FileTokenStore(path: folder.path + "/session.json")))
    }

    private func perform(_ users: Users) async throws {
        let user = changes.map { text in
            let name = text.prefix { $0 != "=" }
            return (String(name), JSON.string(String(text.dropFirst(name.count + 1))))
        }
        for action in actions {
            switch action {
            case .signIn: try await users.signIn()
            case .show: try await users.show()
            case .update: try await users.change(.put, user)
            case .post: try await users.change(.post, user)
            case .delete: try await users.delete()
            case .randomUser: try await users.signInAsSomebodyNew()
            case .refresh: try await users.refresh()
            case .test: try await users.test()
            case .signOut: try await users.signOut()
            }
        }
    }
}
