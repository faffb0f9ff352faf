internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// The command line: its commands, and the handling of errors and signals.
struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in", abstract: "Signs in at an OpenID provider and stays signed in.",
        discussion: """
            Example: sign-in login --issuer https://accounts.example.org --client-id my-app

            Environment:
              SIGN_IN_PROFILE          The profile, if the command names no session.
              SIGN_IN_PASSPHRASE_FILE  A file with the passphrase of encrypted stores.
              SIGN_IN_KEY_PIN_FILE     A file with the PIN of a key in a device.
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
        version: ProgramVersion.number, subcommands: [DeliveredRedirect.self],
        groupedSubcommands: [
            CommandGroup(name: "Sign-in", subcommands: [Login.self, Device.self, Logout.self]),
            CommandGroup(name: "Session", subcommands: [Status.self, Accounts.self, Watch.self, Use.self]),
            CommandGroup(
                name: "Token",
                subcommands: [Token.self, Helper.self, Proxy.self, Request.self, UserInfo.self, Exchange.self]),
            CommandGroup(name: "Service", subcommands: [ClientCredentials.self]),
            CommandGroup(
                name: "Setup",
                subcommands: [
                    Register.self, Export.self, Import.self, Doctor.self, Discover.self, Demo.self,
                ]),
            CommandGroup(name: "Old server", subcommands: [Password.self]),
        ])

    /// Runs a command.
    ///
    /// - Returns: The exit status: 0 for success, 1 for failure, 2 for wrong usage, 130 if interrupted.
    static func run(_ arguments: [String], _ interrupts: Interrupts, _ input: StandardInput) async -> Int32 {
        // The parser takes a word such as `--scope=`, which the command's own lines have, for an option without a value.
        let arguments = arguments.flatMap { word in
            word.hasPrefix("--") && word.firstIndex(of: "=") == word.indices.last
                ? [String(word.dropLast()), ""] : [word]
        }
        do {
            let line = try Profile.completing(SignInLine(arguments)) {
                named([$0]).map { options(of: $0.command) } ?? []
            }
            let isOverview = arguments.isEmpty && input.isTerminal && Console.isTerminal(.output)
            var command = try isOverview ? Overview.parse([]) : parsed(line.words)
            if let command = command as? any Command { return await run(command, arguments, line, interrupts, input) }
            if command is Tool || command is Helper {
                let line = command is Tool ? "sign-in" : "sign-in helper"
                throw WrongUsage("a command is missing; see \("\(line) --help".foundText)")
            }
            try command.run()
            return 0
        } catch let error as WrongUsage {
            return refuse(error.message, arguments)
        } catch let error as AuthError {
            Console(json: arguments.contains("--json")).fail(code: error.code.rawValue, error.message)
            return 1
        } catch {
            return end(fullMessage(for: error), arguments)
        }
    }

    /// Parses one command without creating the parsers of all others, which takes longer. Help, which names the whole path,
    /// and the version are left to the root parser.
    private static func parsed(_ words: [String]) throws -> any ParsableCommand {
        if words.first == "token", let choice = StoredToken.Choice(words.dropFirst()) { return choice.command }
        guard let (named, rest) = named(words) else { return try parseAsRoot(words) }
        do { return try named.parse(Array(rest)) } catch {
            let message = usageError(in: named.fullMessage(for: error))
            guard let message, !rest.contains("--version") else { return try parseAsRoot(words) }
            throw WrongUsage(message)
        }
    }

    /// Returns the error in a text of the parser; nil if it is help.
    private static func usageError(in text: String) -> String? {
        let (line, prefix) = (text.prefix { $0 != "\n" }, "Error: ")
        return line.hasPrefix(prefix) ? String(line.dropFirst(prefix.count)) : nil
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
        helpMessage(for: command, includeHidden: true).wordsOfHelp
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
        } catch is CancellationError {
            return interrupts.status(console)
        } catch {
            console.fail(code: AuthError.Code.unavailable.rawValue, AuthError.summary(of: error))
            return 1
        }
    }

    /// Prints the parser's text: help, or a usage error.
    private static func end(_ text: String, _ arguments: [String]) -> Int32 {
        if let message = usageError(in: text) { return refuse(message, arguments) }
        // In bash, the path after `file:` is a word of its own, for which the parser's script has no completion. In its POSIX
        // mode, a function has no hyphen in its name.
        let text =
            text.contains("complete -o filenames -F")
            ? text.replacing("complete -o filenames -F", with: "complete -o filenames -o default -F")
                .replacing(/_sign-in[a-z_-]*/) { $0.output.replacing("-", with: "_") } : text
        let console = Console(json: arguments.contains("--json"))
        do { try console.print(Array((text + "\n").utf8)) } catch {
            console.fail(code: "output", (error as? AuthError)?.message ?? "\(error)")
            return 1
        }
        return 0
    }

    /// Prints a usage error in one line.
    private static func refuse(_ message: String, _ arguments: [String]) -> Int32 {
        Console(json: arguments.contains("--json")).fail(
            code: "usage", unknown(arguments, message) ?? unexplained(arguments, message) ?? message)
        return 2
    }

    /// Returns the parser's message about a missing argument in the words of the commands' own messages, or one that does
    /// not say what was expected, with the command line whose help does.
    private static func unexplained(_ arguments: [String], _ message: String) -> String? {
        let missing = "Missing expected argument '"
        var text = message
        if message.hasPrefix(missing) {
            text = "expected \(message.dropFirst(missing.count).dropLast().replacing(" ...", with: ""))"
        } else if !message.hasPrefix("The value '") || message.contains(": ") || message.contains("Please provide") {
            return nil
        }
        guard let (_, rest) = named(arguments) else { return text }
        return "\(text); see 'sign-in \(arguments.dropLast(rest.count).joined(separator: " ")) --help'"
    }

    /// Returns a message for an unknown command or option, where the parser reports only what is then missing or
    /// unexpected.
    private static func unknown(_ arguments: [String], _ message: String) -> String? {
        guard let name = arguments.first, name != "help",
            ["Missing expected", "Unknown option", "Unexpected argument"].contains(where: message.hasPrefix)
        else { return nil }
        guard let (command, rest) = named(arguments) else {
            return "expected a command first, found \(name.foundText); see 'sign-in --help'"
        }
        let line = arguments.dropLast(rest.count).joined(separator: " ")
        let options = Self.options(of: command)
        return rest.map { $0.prefix { $0 != "=" } }
            .first { $0.hasPrefix("--") && !options.contains(String($0)) }
            .map { "there is no option \($0.foundText); see 'sign-in \(line) --help'" }
    }
}
