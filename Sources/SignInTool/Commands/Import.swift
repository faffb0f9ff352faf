internal import AppAuth
internal import ArgumentParser

/// The options that name what a profile needs of this machine. A document does not choose them.
struct OwnFileOptions: ParsableArguments, Sendable {
    @Option(
        parsing: .unconditional, help: "Where to store the session: file:PATH, encrypted:PATH, keyring or memory.",
        completion: StoreChoice.completion, transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @Option(
        name: .customLong("client-secret-file"), parsing: .unconditional, help: "A file with the client secret.",
        completion: .file())
    var secretFile: String?
    @Option(
        name: .customLong("client-key"), parsing: .unconditional,
        help: "The client’s private key: a file, or a URI of a key in a device.", completion: .file())
    var keyFile: String?
    @Option(
        name: .customLong("client-assertion-file"), parsing: .unconditional,
        help: "A file with a JWT of another issuer, which authenticates the client.", completion: .file())
    var assertionFile: String?
    @Option(
        name: .customLong("password-file"), parsing: .unconditional, help: "A file with the user’s password.",
        completion: .file())
    var passwordFile: String?
    @Option(
        name: .customLong("redirect-https"), parsing: .unconditional, help: .certificate, completion: .file())
    var certificateFile: String?
    @Option(
        name: .customLong("redirect-key"), parsing: .unconditional, help: "The private key of that certificate.",
        completion: .file())
    var certificateKeyFile: String?
    @Option(
        parsing: .unconditional, help: "The profile whose identity provider vouches for you.",
        completion: Profile.completion, transform: Profile.init(_:))
    var from: Profile?

    /// The options as they were given, for a command line.
    var words: [String] {
        let options = [
            ("--store", store?.argument), ("--client-secret-file", secretFile), ("--client-key", keyFile),
            ("--client-assertion-file", assertionFile), ("--password-file", passwordFile), ("--from", from?.name),
            ("--redirect-https", certificateFile), ("--redirect-key", certificateKeyFile),
        ]
        return options.flatMap { name, value in value.map { [name, $0] } ?? [] }
    }
}

/// The command `sign-in import`.
struct Import: Command {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Creates a profile from the output of 'sign-in export'. It does not sign in.",
        discussion: """
            Example: sign-in import work.json

            It shows the profile, and asks before it is stored. Files are those of this machine: if the profile had some \
            where it was exported, name them.
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file())
    var file: String
    @Option(parsing: .unconditional, help: "Another name for the profile.", transform: Profile.init(_:))
    var profile: Profile?
    @Flag(help: "Store the profile without a question.")
    var yes = false
    @Flag(help: .json) var json = false
    @OptionGroup var own: OwnFileOptions
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let document: ProfileDocument
        do { document = try ProfileDocument(parsing: read()) } catch var error as AuthError {
            if file != "-" { error.message = "\(file): \(error.message)" }
            throw error
        }
        guard let profile = profile ?? document.profile else {
            throw WrongUsage("the document names no profile: expected --profile")
        }
        let line = try line(of: document)
        if let known = try profile.signIn {
            guard try ProfileDocument(profile, known).json == ProfileDocument(profile, line).json else {
                throw WrongUsage("there is another profile \(profile.name.foundText): name the new one with --profile")
            }
        } else {
            guard try !profile.hasFile else {
                throw WrongUsage("there is a session \(profile.name.foundText): name the new profile with --profile")
            }
            try await confirm(profile, line, console)
            try profile.create(Secret(randomBytes: 16).reveal(), signIn: line)
        }
        let signIn = SignInLine([line.words[0], "--profile", profile.name]).shellLine
        try console.succeed(
            ["profile": .string(profile.name), "command": .string(signIn)],
            text: "The profile \(profile.name) is stored. Sign in with: \(signIn)")
        return 0
    }

    private func read() throws -> [UInt8] {
        guard file != "-" else { return try InputText.read(atMost: ProfileDocument.limit) }
        do { return try InputFile.readWaiting(file, atMost: ProfileDocument.limit) } catch .cancelled {
            throw CancellationError()
        } catch { throw AuthError(.invalidConfiguration, .configuration, error.description) }
    }

    /// Returns the command line of the profile, with what the user has named of this machine.
    private func line(of document: ProfileDocument) throws -> SignInLine {
        let ownWords = own.words + (common.caFile.map { ["--ca-file", $0] } ?? [])
        let named = SignInLine(["import"] + ownWords)
        let missing = document.local.filter { named.value(of: $0.name) == nil }
        guard missing.isEmpty else {
            let texts = missing.map { "\($0.name) (where it was exported: \($0.value.foundText))" }
            throw WrongUsage("the profile needs something of this machine: expected \(texts.joined(separator: ", "))")
        }
        let line = try SignInLine(document.words + ownWords).withoutRepetitions.remembered
        let commands: [any ParsableCommand.Type] = [Login.self, Device.self, Password.self]
        let command = commands.first { $0._commandName == line.words.first }
        do { _ = try command?.parse(Array(line.words.dropFirst())) } catch {
            let why = command?.message(for: error) ?? ""
            throw AuthError(
                .invalidConfiguration, .configuration,
                "'sign-in \(line.words[0])' refuses the options of the profile: \(why.foundSentence)")
        }
        return line
    }

    /// Shows the profile, and asks whether to store it. To a sign-in, its issuer is the user's agreement.
    private func confirm(_ profile: Profile, _ line: SignInLine, _ console: Console) async throws {
        let lines =
            ["The profile \(profile.name), for 'sign-in \(line.words[0])':"] + ProfileDocument.lines(line)
        if yes || json || !console.canAsk { for line in lines { console.say(line) } }
        guard !yes else { return }
        guard !json,
            try await console.ask(
                "A sign-in with it trusts these servers, as if you had named them. Store it?", about: lines)
        else {
            throw AuthError(
                .confirmationRequired, .configuration,
                "the profile is not stored. To store it without a question, use: "
                    + SignInLine(console.arguments + ["--yes"]).shellLine, outcome: .notSent)
        }
    }
}
