internal import AppAuth
internal import ArgumentParser

/// The command `sign-in export`.
struct Export: Command {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints how a profile signs in, without secrets, for 'sign-in import' on another machine.",
        discussion: "Example: sign-in export work > work.json")

    @Argument(help: "The profile.", completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile
    @Flag(help: "Print an error as JSON too.") var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        guard let known = try profile.known else { throw WrongUsage(try profile.isUnknown) }
        let document = ProfileDocument(profile, known.lineForOthers)
        let json = try document.json
        try console.succeed(json, text: json.serialized())
        let names = document.local.map(\.name).joined(separator: " and ")
        if !names.isEmpty { console.say("On the other machine, 'sign-in import' will require its own \(names).") }
        return 0
    }
}

extension Profile.Known {
    /// The command line for another machine. If only a resource has named the issuer, names it: the resource may name another
    /// one by then, which must not get the user's own client.
    fileprivate var lineForOthers: SignInLine {
        let hasClientOfResource = ["--resource", "--client-id"].allSatisfy { signIn.value(of: $0) != nil }
        guard hasClientOfResource, let issuer, !signIn.options.contains(where: { Self.namesIssuer.contains($0.name) })
        else {
            return signIn
        }
        return SignInLine(signIn.words + ["--issuer", issuer])
    }

    private static let namesIssuer = ["--issuer", "--preset"]
}
