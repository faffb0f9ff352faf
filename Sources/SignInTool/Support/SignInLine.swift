internal import FoundationEssentials

/// The command line of a sign-in, which a profile remembers.
struct SignInLine {
    /// The command and its options.
    let words: [String]

    init(_ words: [String]) { self.words = words }

    /// The commands that sign in and store a session. The first is the usual one.
    static let commands = ["login", "device", "password"]
    /// The options that name a session.
    static let namingOptions = ["--issuer", "--client-id", "--store"]

    /// Whether the line says itself where to sign in.
    var namesSession: Bool { Self.namingOptions.contains { value(of: $0) != nil } }

    /// Returns the value of an option.
    func value(of option: String) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if word == option { return next }
            if word.hasPrefix(option + "=") { return String(word.dropFirst(option.count + 1)) }
        }
        return nil
    }

    /// Returns the line with the options that the profile remembers, if it is a sign-in that names only a profile, or
    /// nothing while a profile is in use.
    func completed() throws -> SignInLine {
        guard let command = words.first, Self.commands.contains(command), !namesSession else { return self }
        let named = value(of: "--profile")
        let valid = named.flatMap { Profile(argument: $0) }
        guard (named == nil) == (valid == nil), let profile = try Profile.chosen(valid, lineNamesSession: false) else {
            return self
        }
        guard let remembered = try profile.signIn else {
            throw WrongUsage(
                "there is no profile '\(profile.name)' yet: sign in with --issuer and --client-id once, or see "
                    + "'sign-in accounts'")
        }
        let name = named == nil ? ["--profile", profile.name] : []
        return SignInLine([command] + remembered.dropFirst() + name + words.dropFirst())
    }

    /// What is the same in each sign-in with these options, wherever it runs.
    ///
    /// The options for the output are left out, and so is the name of the profile. Paths become absolute.
    var remembered: [String] {
        var (kept, rest) = ([String](), words[...])
        while let word = rest.popFirst() {
            let (name, attached) = Self.split(word)
            if ["--json", "--verbose", "--replace-store", "--userinfo"].contains(word) { continue }
            guard Self.valuesOfThisRun.contains(name) || Self.paths.contains(name) || name == "--store" else {
                kept.append(word)
                continue
            }
            guard let value = attached ?? rest.popFirst(), !Self.valuesOfThisRun.contains(name) else { continue }
            kept += [name, Self.paths.contains(name) ? Self.absolute(value) : Self.absolute(store: value)]
        }
        return kept
    }

    private static let valuesOfThisRun = ["--profile", "--timeout"]
    private static let paths = [
        "--client-secret-file", "--client-key", "--client-assertion-file", "--password-file", "--ca-file",
    ]

    private static func split(_ word: String) -> (name: String, value: String?) {
        let name = word.prefix { $0 != "=" }
        return (String(name), name.endIndex == word.endIndex ? nil : String(word[word.index(after: name.endIndex)...]))
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    }

    private static func absolute(store: String) -> String {
        for prefix in ["file:", "encrypted:"] where store.hasPrefix(prefix) {
            return prefix + absolute(String(store.dropFirst(prefix.count)))
        }
        return store
    }
}
