internal import AppAuthLegacy
internal import ArgumentParser
internal import VendorSample

/// The program `opro`: signs in with a name and a password, stays signed in, and manages the user.
@main
struct OProSample: SampleCommand {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case signIn = "sign-in", show, update, delete, randomUser = "random-user", refresh, test
        case signOut = "sign-out"
    }

    static let configuration = CommandConfiguration(
        commandName: "opro", abstract: "Signs in at oPRO's demo, and manages the user.",
        discussion: """
            Performs the actions in order. By default, it starts a simulated oPRO server on this machine, and stops \
            it at the end. With --server, it uses a real server, and the user stays signed in for the next run. The tokens \
            are in a file or in the keyring, from which each action reads them.
            """)

    @Argument(help: "The actions.")
    var actions: [Action] = [.signIn, .show, .update, .refresh, .test, .signIn, .randomUser, .show]
    @Option(
        name: .customLong("set"),
        help: ArgumentHelp("A change for update: email, twitter or zip.", valueName: "name=value"))
    var changes = ["twitter=red_slippers", "zip=66605"].compactMap(Assignment.init(argument:))
    @Flag(help: "Send the changes as a form. The default is JSON.") var form = false
    @Flag(help: "Let test refresh a bad token. The default sends the stored token as it is, or none.")
    var refresh = false
    @OptionGroup var server: Server
    @Option(help: "The user who signs in at a real server.") var username: String?
    @Option(name: .customLong("password-file"), help: "A file with the password, readable only by you (chmod 600).")
    var passwordFile: String?

    func validate() throws {
        guard (username != nil) == (passwordFile != nil), username == nil || server.isReal else {
            throw ValidationError("expected --username and --password-file together, with --server")
        }
    }

    /// The changes. Rails reads them from JSON and from a form.
    private var content: TransportRequest.Content {
        var (user, fields) = (JSON.Object(), FormParameters())
        for change in changes {
            user[change.name] = .string(change.value)
            fields.append("user[\(change.name)]", change.value)
        }
        return form ? .form(fields) : .json(["user": .object(user)])
    }

    func run() async throws {
        try await server.visit("opro") { location in
            let users = try Users(at: location)
            let name = username ?? location.demo["username"]?.string
            let password =
                try passwordFile.map(PrivateFile.secret) ?? location.demo["password"]?.string.map { Secret($0) }
            for action in actions {
                try await users.perform(action, name, password, content, refreshesTest: refresh)
            }
        }
    }
}
