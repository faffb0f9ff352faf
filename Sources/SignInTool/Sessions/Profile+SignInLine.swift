internal import AppAuth
internal import JOSE

extension Profile {
    /// Returns the command line with the options that the profile remembers, if it is a sign-in that names only a profile,
    /// or nothing while a profile is in use. If the profile remembers another command, only the options that both have
    /// apply. If the line names resources, they replace the remembered ones.
    ///
    /// A resource says itself where to sign in. So for a line that names one and no profile, the profile in use counts
    /// only if it is new, or remembers the same resource.
    ///
    /// - Parameter known: Returns the options of a command.
    static func completing(
        _ line: SignInLine, _ known: (_ command: String) -> Set<String>
    ) throws -> SignInLine {
        guard let profile = try applying(to: line), let command = line.words.first else { return line }
        let own = try profile.signIn
        let name = line.value(of: "--profile") == nil ? ["--profile", profile.name] : []
        // A new profile: the resource says where to sign in, `login` asks, and `doctor` checks the rest.
        if own == nil, line.namesResource || SignInLine.startingCommands.contains(command) {
            return SignInLine([command] + name + line.words.dropFirst())
        }
        guard let own else { throw profile.isNew }
        var remembered = own.options
        if command != own.words.first {
            let known = known(command)
            remembered.removeAll { !known.contains($0.name) }
        }
        if line.namesResource { remembered.removeAll { $0.name == SignInLine.resource } }
        // Certificates that are trusted, or a credential, which would be sent to the provider.
        for option in remembered where SignInLine.paths.contains(option.name) && line.value(of: option.name) == nil {
            if let path = option.value, OwnPlace.isPlanted(path) { throw AuthError.planted(path, option: option.name) }
        }
        return SignInLine([command] + remembered.flatMap(\.words) + name + line.words.dropFirst())
    }

    /// Returns the profile that completes a command line; nil for none.
    static func applying(to line: SignInLine) throws -> Profile? {
        guard let command = line.words.first, SignInLine.completedCommands.contains(command), !line.namesSession,
            !line.options.contains(where: { ["-h", "--help"].contains($0.name) })
        else { return nil }
        let named = line.value(of: "--profile")
        let valid = named.flatMap { Profile(argument: $0) }
        guard (named == nil) == (valid == nil), let profile = try chosen(valid, lineNamesSession: false) else {
            return nil
        }
        if named == nil, line.namesResource, let own = try profile.signIn, own.resources != line.resources {
            return nil
        }
        return profile
    }

    /// The wrong usage that a sign-in names a profile and a client, but no provider.
    var needsIssuer: WrongUsage {
        guard (try? signIn) != nil else { return isNew }
        return WrongUsage(
            "--client-id needs --issuer too. To repeat the sign-in of the profile \(name.foundText): sign-in login --profile \(name)"
        )
    }

    /// The wrong usage that a sign-in names a new profile, but no provider.
    private var isNew: WrongUsage {
        WrongUsage(
            "there is no profile \(name.foundText) yet: sign in with --issuer and --client-id once, or see 'sign-in status'"
        )
    }
}
