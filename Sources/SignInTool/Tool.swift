internal import AppAuth
internal import ArgumentParser

/// The command line: its commands, and the handling of errors and signals.
struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Signs in at an OpenID provider and stays signed in.",
        discussion: """
            Example: sign-in login --issuer https://accounts.example.org --client-id my-app

            Environment:
              SIGN_IN_PROFILE          The profile, if the command names no session.
              SIGN_IN_PASSPHRASE_FILE  A file with the passphrase of encrypted stores.
              XDG_STATE_HOME           Where the folder sign-in is, with the sessions.
              BROWSER                  Commands of browsers, separated by colons.
              CURL_CA_BUNDLE           A file with root certificates. Also SSL_CERT_FILE.
              SSL_CERT_DIR             A folder with root certificates.
              https_proxy, all_proxy   The proxy. no_proxy lists the hosts without one.
              NO_COLOR                 No colours and bold text on terminals.

            Files:
              ~/.local/state/sign-in   Sessions, profiles and registered clients.

            Exit status: 0 for success, 1 for a failure, 2 for wrong usage, 130 after Ctrl-C.
            """,
        version: "0.1.0", subcommands: [DeliveredRedirect.self],
        groupedSubcommands: [
            CommandGroup(name: "Sign-in", subcommands: [Login.self, Device.self, Logout.self]),
            CommandGroup(name: "Session", subcommands: [Status.self, Accounts.self, Use.self]),
            CommandGroup(
                name: "Token", subcommands: [Token.self, Helper.self, Request.self, UserInfo.self, Exchange.self]),
            CommandGroup(name: "Service", subcommands: [ClientCredentials.self]),
            CommandGroup(name: "Setup", subcommands: [Register.self, Discover.self, Demo.self]),
            CommandGroup(name: "Old server", subcommands: [Password.self]),
        ])

    /// Runs a command.
    ///
    /// - Returns: The exit status: 0 for success, 1 for failure, 2 for wrong usage, 130 if interrupted.
    static func run(_ arguments: [String], _ interrupts: Interrupts, _ input: StandardInput) async -> Int32 {
        let (line, command): (SignInLine, any ParsableCommand)
        do {
            line = try SignInLine(arguments).completed { named([$0]).map { options(of: $0.command) } ?? [] }
            command = if let command = alone(line.words) { command } else { try parseAsRoot(line.words) }
        } catch let error as WrongUsage {
            return refuse(ValidationError(error.message), arguments)
        } catch let error as AuthError {
            Console(json: arguments.contains("--json")).fail(code: error.code.rawValue, error.message)
            return 1
        } catch {
            return refuse(error, arguments)
        }
        if let command = command as? any Command { return await run(command, arguments, line, interrupts, input) }
        if command is Tool || command is Helper {
            let line = command is Tool ? "sign-in" : "sign-in helper"
            return refuse(ValidationError("a command is missing; see '\(line) --help'"), arguments)
        }
        do {
            var help = command
            try help.run()
            return 0
        } catch {
            return refuse(error, arguments)
        }
    }

    /// Parses one command without creating the parsers of all others, which takes longer. Help and errors are left to the
    /// root parser.
    private static func alone(_ arguments: [String]) -> (any ParsableCommand)? {
        if arguments.first == "token", let choice = StoredToken.Choice(arguments.dropFirst()) { return choice.command }
        guard let (named, rest) = named(arguments) else { return nil }
        return try? named.parse(Array(rest))
    }

    /// Returns the command that the first words name, and the words after them.
    private static func named(
        _ words: [String]
    ) -> (command: any ParsableCommand.Type, rest: ArraySlice<String>)? {
        var (found, rest) = (Tool.self as any ParsableCommand.Type, words[...])
        while let next = found.configuration.subcommands.first(where: { $0._commandName == rest.first }) {
            (found, rest) = (next, rest.dropFirst())
        }
        return rest.count < words.count ? (found, rest) : nil
    }

    /// Returns the options of a command, and other words of its help.
    private static func options(of command: any ParsableCommand.Type) -> Set<String> {
        Set(helpMessage(for: command, includeHidden: true).split { !$0.isLetter && $0 != "-" }.map(String.init))
    }

    private static func run(
        _ command: any Command, _ arguments: [String], _ line: SignInLine, _ interrupts: Interrupts,
        _ input: StandardInput
    ) async -> Int32 {
        let limit = command.common.timeout?.duration ?? command.defaultTimeout
        let console = Console(command, arguments: arguments, line: line, input: input, limit: limit)
        do {
            return try await interrupts.run {
                guard command.endsInTime else { return try await command.run(console, limit: limit) }
                return try await withTimeout(limit, .configuration, console.whatIsLate) {
                    try await command.run(console, limit: limit)
                }
            }
        } catch let error as WrongUsage {
            console.fail(error)
            return 2
        } catch let error as AuthError {
            console.fail(code: error.code.rawValue, console.advice.message(error, console.arguments))
            return 1
        } catch {
            return interrupts.status(console)
        }
    }

    /// Prints the help if it was requested, or a usage error in one line.
    private static func refuse(_ error: any Error, _ arguments: [String]) -> Int32 {
        // In bash, the path after `file:` is a word of its own, for which the parser's script has no completion.
        let text = fullMessage(for: error)
            .replacing("complete -o filenames -F", with: "complete -o filenames -o default -F")
        let console = Console(json: arguments.contains("--json"))
        guard exitCode(for: error) != .success else {
            do { try console.print(Array((text + "\n").utf8)) } catch {
                console.fail(code: "output", (error as? AuthError)?.message ?? "\(error)")
                return 1
            }
            return 0
        }
        let line = text.split(separator: "\n").first.map(String.init) ?? "wrong usage"
        let message = line.hasPrefix("Error: ") ? String(line.dropFirst("Error: ".count)) : line
        console.fail(code: "usage", unknown(arguments, message) ?? message)
        return 2
    }

    /// Returns a message for an unknown command or option, where the parser reports only what is then missing or
    /// unexpected.
    private static func unknown(_ arguments: [String], _ message: String) -> String? {
        guard let name = arguments.first, name != "help",
            ["Missing expected", "Unknown option", "Unexpected argument"].contains(where: message.hasPrefix)
        else { return nil }
        guard let (command, rest) = named(arguments) else {
            return "expected a command first, found '\(name)'; see 'sign-in --help'"
        }
        let line = arguments.prefix(arguments.count - rest.count).joined(separator: " ")
        let options = Self.options(of: command)
        return rest.map { $0.prefix { $0 != "=" } }
            .first { $0.hasPrefix("--") && !options.contains(String($0)) }
            .map { "there is no option '\($0)'; see 'sign-in \(line) --help'" }
    }
}
