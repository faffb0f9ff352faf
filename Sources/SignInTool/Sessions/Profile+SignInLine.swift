internal import AppAuth
internal import Glibc
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
        for option in remembered where line.value(of: option.name) == nil { try profile.requireOwnPlace(of: option) }
        return SignInLine([command] + remembered.flatMap(\.words) + name + line.words.dropFirst())
    }

    /// Throws if another user decides what is in a file that only the profile names: certificates that are trusted, or a
    /// credential, which would be sent to the provider.
    private func requireOwnPlace(of option: SignInLine.Option) throws {
        guard SignInLine.paths.contains(option.name), let path = option.value,
            // As the user has redirected it for this command.
            !path.hasPrefix("/dev/"), !path.hasPrefix("/proc/"),
            // What is not there is missed when it is read.
            access(path, F_OK) == 0, !OwnPlace.isOnlyOurs(path)
        else { return }
        throw AuthError(
            .invalidConfiguration, .configuration,
            "\(option.name): the profile \(name.foundText) names \(path.shownName), which another user can replace or change. "
                + "Let only you and root write to that file and the folders that it is in, or name another one with "
                + "\(option.name)", outcome: .notSent)
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
