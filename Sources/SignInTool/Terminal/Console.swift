internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc
internal import JOSE
internal import Logging

/// The output of results, errors and progress.
struct Console: Sendable {
    enum Stream: Int32 { case output = 1, error = 2 }

    let json: Bool
    /// The command line, without the program's name.
    private(set) var arguments: [String]
    /// The command line with the options that the profile remembers.
    private(set) var line: SignInLine
    private let isVerbose: Bool
    /// Whether the environment explains each step.
    let isExplaining: Bool
    /// The HTTP transport, clock and log of the command.
    let environment: Environment
    /// The standard input, typed by the user or written by a program; nil if the command reads none.
    let input: StandardInput?
    /// The advice on errors.
    let advice = Advice()
    /// The options of the network, for command lines that the command prints.
    let wordsOfNetwork: [String]
    private let isWaitingForBrowser = LockedValue(false)
    private let said = LockedValue<Set<String>>([])
    /// The line that the terminal shows below all others; empty for none.
    private static let status = LockedValue("")

    /// - Parameters:
    ///   - arguments: The command line, without the program's name.
    ///   - isExplaining: Whether the environment has a log that explains each step.
    ///   - environment: The environment of the command; it gets a log for `--verbose`.
    init(
        json: Bool, isVerbose: Bool = false, isExplaining: Bool = false, arguments: [String] = [],
        line: SignInLine = SignInLine([]), input: StandardInput? = nil, environment: Environment = .live,
        wordsOfNetwork: [String] = []
    ) {
        (self.json, self.isVerbose, self.isExplaining, self.input) = (
            json, isVerbose || isExplaining, isExplaining, input
        )
        (self.arguments, self.line, self.wordsOfNetwork) = (arguments, line, wordsOfNetwork)
        var environment = environment
        if !isExplaining { environment.logger = isVerbose ? Logger(label: "sign-in") { _ in ConsoleLog() } : .silent }
        self.environment = environment
    }

    /// Returns the console of a command whose command line the user has completed.
    func with(_ arguments: [String], _ line: SignInLine) -> Console {
        var console = self
        (console.arguments, console.line) = (arguments, line)
        return console
    }

    /// Prints a result: JSON for programs, or text for users.
    func succeed(_ result: @autoclosure () -> JSON, text: @autoclosure () -> String) throws {
        try print(Array(((json ? result().serialized() : text()) + "\n").utf8))
    }

    /// Prints the command's result. Throws if it cannot be written.
    func print(_ bytes: [UInt8]) throws {
        do { try OutputFile.write(bytes, to: Stream.output.rawValue) } catch {
            throw AuthError("output", .configuration, "standard output cannot be written: \(error.text)")
        }
    }

    /// Prints an error: one line on standard error, and with `--json` also JSON on standard output.
    ///
    /// - Parameter more: Further members of the JSON.
    func fail(code: String, _ message: String, with more: JSON.Object = .init()) {
        if json {
            var result: JSON.Object = ["error": Self.json(code, message)]
            for member in more.members { result[member.name] = member.value }
            Self.write(JSON.object(result).serialized() + "\n", to: .output)
        }
        note(message)
    }

    /// Prints an error of usage. For people, each choice is in a line of its own, to copy.
    func fail(_ error: WrongUsage) {
        guard !json, error.choices.count > 1 else { return fail(code: "usage", error.message) }
        note("\(error.summary):")
        for choice in error.choices {
            if let meaning = choice.meaning { say("  \(meaning):") }
            say((choice.meaning == nil ? "  " : "    ") + choice.words)
        }
    }

    static func json(_ code: String, _ message: String) -> JSON {
        ["code": .string(code), "message": .string(message.onOneLine)]
    }

    /// Logs a step that the library does not log, for `--verbose`.
    func log(_ step: Logger.Message) { environment.logger.info(step) }

    /// Records whether the command is waiting for the user at the browser.
    func waitForBrowser(_ isWaiting: Bool = true) { isWaitingForBrowser.withLock { $0 = isWaiting } }

    /// The message for a command that exceeds its time limit.
    var whatIsLate: String {
        isWaitingForBrowser.withLock { $0 } ? "the browser did not come back" : "the command did not finish"
    }

    /// Prints a line on standard error, with the program's name.
    func note(_ line: String) {
        Self.write(styled("sign-in:", .red) + " \(line.onOneLine)\n", to: .error)
    }

    /// Prints a line for the user on standard error, since standard output is for the result.
    func say(_ line: String) { Self.write(line.onOneLine + "\n", to: .error) }

    /// Prints a line for the user, but only the first time that the command does.
    func sayOnce(_ line: String) { if said.withLock({ $0.insert(line).inserted }) { say(line) } }

    /// Prints a progress line if standard error is a terminal, or with `--verbose`. A program that reads standard error
    /// gets only errors.
    func explain(_ line: String) { if isVerbose || Self.isTerminal(.error) { say(line) } }

    static func isTerminal(_ stream: Stream) -> Bool { isatty(stream.rawValue) == 1 }

    /// Writes a text. On standard error, it is above the status line.
    static func write(_ text: String, to stream: Stream) {
        status.withLock { status in
            let isAbove = stream == .error && !status.isEmpty && hasStatusLine
            put(isAbove ? clear + text + status : text, to: stream)
        }
    }

    /// Replaces the status line. An empty one removes it. A longer line than the terminal's could not be removed.
    static func show(status text: String) {
        let line = text.cut(toCells: (width(of: .error) ?? 80) - 1)
        status.withLock { status in
            // In the background, the terminal belongs to another program.
            if !(line + status).isEmpty, hasStatusLine { put(clear + line, to: .error) }
            status = line
        }
    }

    private static let clear = "\r\u{1B}[K"

    private static func put(_ text: String, to stream: Stream) {
        try? OutputFile.write(Array(text.utf8), to: stream.rawValue)
    }
}

extension String {
    /// The string with its first letter capitalized.
    var asSentence: String { prefix(1).uppercased() + dropFirst() }
}

/// A log handler that writes to standard error.
private struct ConsoleLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        Console.write("sign-in: \(event.level): \(event.message.description.onOneLine)\n", to: .error)
    }
}
