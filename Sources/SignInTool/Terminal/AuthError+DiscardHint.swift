internal import AppAuth

extension AuthError {
    /// Returns the message with the command line that sets a damaged or encrypted session aside.
    ///
    /// - Parameter options: The arguments of the failed command. The ones that name a session are repeated.
    func message(for options: [String]) -> String {
        let names = ["--profile"] + SignInLine.namingOptions
        var words = ["sign-in", "logout", "--local", "--discard"]
        for (index, option) in options.enumerated() {
            if names.contains(option), index + 1 < options.count { words += [option, options[index + 1]] }
            if names.contains(where: { option.hasPrefix("\($0)=") }) { words.append(option) }
        }
        let line = words.shellLine
        switch storeProblem {
        case .notEncrypted?: return message + ". To read it, use --store file:PATH"
        case .encryption?:
            // The message about a missing passphrase says how to give it.
            let remedy =
                code == .invalidConfiguration
                ? ""
                : ". Set SIGN_IN_PASSPHRASE_FILE to a file with the right passphrase, and use --store encrypted:PATH"
            return message + remedy + ". If the passphrase is lost, set the session aside and go on: \(line)"
        case .noLibrary?, .noBus?, .noService?: return message + ". Without a keyring, use --store file:PATH"
        // Only the store's own hint, which is at the end: a server may write the same.
        case .damaged? where message.hasSuffix(Self.discardHint):
            return message.dropLast(Self.discardHint.count) + ". To set it aside and go on: \(line)"
        default: return message
        }
    }
}
