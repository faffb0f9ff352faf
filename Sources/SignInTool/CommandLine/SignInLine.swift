internal import AppAuth

/// The command line of a sign-in, which a profile remembers.
struct SignInLine {
    /// The command and its options.
    let words: [String]

    init(_ words: [String]) { self.words = words }

    /// The commands that sign in and store a session. The first is the usual one.
    static let commands = ["login", "device", "password"]
    /// The commands that a new profile is no mistake for: one asks for what is missing, the other checks the rest.
    static let startingCommands = ["login", "doctor"]
    /// The commands that a profile completes.
    static let completedCommands = commands + ["doctor"]
    /// The options that name a stored session.
    static let namingOptions = ["--issuer", "--client-id", "--store"]
    /// The options that name the provider.
    static let providerOptions = [
        "--issuer", "--preset", "--metadata-url", "--authorization-endpoint", "--token-endpoint", "--device-endpoint",
    ]
    static let resource = "--resource"
    static let withoutProfile = "--no-profile"

    /// Whether the line says itself where to sign in. The client's secret goes to the provider that these options name
    /// (RFC 6749 §2.3.1), so a profile completes none of them.
    var namesSession: Bool {
        (Self.namingOptions + Self.providerOptions).contains { value(of: $0) != nil }
            || options.contains { $0.name == Self.withoutProfile }
    }

    /// Whether the line names a resource, which can say itself where to sign in.
    var namesResource: Bool { value(of: Self.resource) != nil }

    /// The options that say what a session is for, and where it is: the resources, or the provider if the line names none.
    var purpose: SignInLine {
        let names = (namesResource ? [] : Self.providerOptions) + ["--store"]
        let named = names.flatMap { name in value(of: name).map { [name, $0] } ?? [] }
        return SignInLine(resources.sorted().flatMap { [Self.resource, $0] } + named)
    }

    var resources: Set<String> { Set(options.filter { $0.name == Self.resource }.compactMap(\.value)) }

    /// The options that name the session of a client.
    static func words(issuer: String, clientID: String) -> [String] {
        ["--issuer", issuer] + Option(name: "--client-id", value: clientID).words
    }

    /// Returns the value of an option: the last one, as the parser does.
    func value(of option: String) -> String? { options.last { $0.name == option }?.value }

    /// The command line, to paste into a shell.
    var shellLine: String {
        let isSignIn = words.first.map(Self.completedCommands.contains) ?? false
        return (["sign-in"] + (isSignIn ? words.prefix(1) + options.flatMap(\.words) : words)).shellLine
    }

    /// The line, for a session that has no profile unless the line names one: wherever it is pasted, no profile in use completes
    /// it, and loses its session.
    var withItsOwnProfile: SignInLine {
        namesSession || value(of: "--profile") != nil ? self : SignInLine(words + [Self.withoutProfile])
    }

    /// Returns the line with the user's agreement to an issuer that a resource has named.
    ///
    /// If the line names the client too, the resource is not asked again, so the line says itself what the resource
    /// requires, even if that is no scope.
    ///
    /// - Parameter scope: The scopes, if the line does not name them; nil for the default ones.
    func agreeing(to issuer: String, scope: [Scope]?, dpop: Bool) -> SignInLine {
        var words = words
        if let scope, value(of: "--scope") == nil, !scope.isEmpty || value(of: "--client-id") != nil {
            words += ["--scope", scope.spaceDelimited ?? ""]
        }
        if dpop { words.append("--dpop") }
        return SignInLine(words + ["--issuer", issuer]).withoutRepetitions
    }

    /// The line without the options that a later one repeats or, as the parser does, replaces.
    var withoutRepetitions: SignInLine {
        let options = options
        let kept = options.indices.filter { index in
            !options[(index + 1)...].contains { later in
                later.name == options[index].name
                    && (!Self.ofSeveralValues.contains(later.name) || later.value == options[index].value)
            }
        }
        return SignInLine(words.prefix(1) + kept.flatMap { options[$0].words })
    }

    /// What is the same in each sign-in with these options, wherever it runs.
    ///
    /// The options for the output are left out, and so is the name of the profile. Paths become absolute.
    var remembered: SignInLine {
        get throws {
            var kept = options.filter { !Self.ofThisRun.contains($0.name) }
            for (index, option) in kept.enumerated() {
                guard let value = option.value else { continue }
                if Self.paths.contains(option.name) { kept[index].value = try value.absolutePath }
                if option.name == "--client-key" { kept[index].value = try value.absoluteKeyName }
                if option.name == "--store" { kept[index].value = try Self.absolute(store: value) }
            }
            return SignInLine(words.prefix(1) + kept.flatMap(\.words))
        }
    }

    /// Returns the line with the options of another one that it lacks, except for those that say where to sign in. The
    /// credentials are for that place (RFC 6749 §2.3.1): `FILE` stands for others.
    func completed(from other: SignInLine) -> SignInLine {
        let left = Set(options.map(\.name) + Self.providerOptions)
        var more = other.options.filter { !left.contains($0.name) }
        for index in more.indices where Self.credentials.contains(more[index].name) { more[index].value = "FILE" }
        return SignInLine(words + more.flatMap(\.words))
    }

    /// All options of the sign-in commands that have no value: the word after any other one is its value.
    private static let flags = [
        "--json", "--verbose", "--explain", "--replace-store", "--userinfo", "--par", "--dpop", "--no-browser",
        "--no-profile", "--help",
    ]
    /// The options that no later sign-in has in common.
    private static let ofThisRun = [
        "--json", "--verbose", "--explain", "--replace-store", "--userinfo", "--profile", "--no-profile",
        "--timeout",
    ]
    private static let ofSeveralValues = ["--redirect-port", "--resource", "--param", "--trusted-audience"]
    private static let credentials = [
        "--client-secret-file", "--client-assertion-file", "--client-key", "--password-file",
    ]
    static let paths = [
        "--client-secret-file", "--client-assertion-file", "--password-file", "--ca-file", "--redirect-https",
        "--redirect-key",
    ]

    struct Option {
        let name: String
        var value: String?
        /// What looks like an option, or as `--` ends the options, is no word of its own: `--scope=--`.
        var words: [String] {
            guard let value, value.hasPrefix("--") else { return [name] + (value.map { [$0] } ?? []) }
            return ["\(name)=\(value)"]
        }
    }

    /// The options after the command, as the parser reads them. A word that is no option stands for itself.
    var options: [Option] {
        var (options, rest) = ([Option](), words.dropFirst())
        while let word = rest.popFirst() {
            let name = word.prefix { $0 != "=" }
            if !word.hasPrefix("--") || Self.flags.contains(word) {
                options.append(Option(name: word))
            } else if name.endIndex < word.endIndex {
                options.append(Option(name: String(name), value: String(word[name.endIndex...].dropFirst())))
            } else {
                options.append(Option(name: word, value: rest.popFirst()))
            }
        }
        return options
    }

    private static func absolute(store: String) throws -> String {
        for prefix in ["file:", "encrypted:"] where store.hasPrefix(prefix) {
            return try prefix + String(store.dropFirst(prefix.count)).absolutePath
        }
        return store
    }
}

extension String {
    /// The options in the help of a command, and its other words.
    var wordsOfHelp: Set<String> { Set(split { !$0.isLetter && $0 != "-" }.map(String.init)) }
}
