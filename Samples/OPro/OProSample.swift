internal import AppAuthLegacy
internal import ArgumentParser
internal import SampleSupport

/// The program `opro`: signs in with a name and a password, stays signed in, and works with the user.
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
    var changes = ["twitter=red_slippers", "zip=66605"].compactMap(Assignment.init(argument:))
    @OptionGroup var server: Server
    @Option(help: "Who signs in at a real server.") var username: String?
    @Option(name: .customLong("password-file"), help: "A file that holds the password.") var passwordFile: String?

    func validate() throws {
        guard (username != nil) == (passwordFile != nil), username == nil || server.isReal else {
            throw ValidationError("expected --username and --password-file together, with --server")
        }
    }

    func run() async throws {
        try await server.visit("opro") { place in
            let users = try Users(at: place)
            let name = username ?? place.demo["username"]?.string
            let password =
                try passwordFile.map(PrivateFile.secret) ?? place.demo["password"]?.string.map { Secret($0) }
            for action in actions { try await users.perform(action, name, password, changes) }
        }
    }
}
