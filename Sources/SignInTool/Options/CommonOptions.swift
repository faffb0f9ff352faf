public import AppAuth
public import ArgumentParser

/// The options of every command. Values may begin with a dash.
///
/// No option group contains another one: in debug builds, the parser checks the options of each level four times for each
/// time that it checks the level above.
struct CommonOptions: ParsableArguments, Sendable {
    @Flag(help: "Log each step to standard error, without secrets.")
    var verbose = false
    @Flag(
        help: """
            Explain each step on standard error: requests and responses without secrets, what they are for, and what is \
            checked. It includes --verbose.
            """)
    var explain = false
    @Option(
        parsing: .unconditional,
        help: "The time limit in seconds; a refresh that was sent is finished first.", transform: Seconds.init(_:))
    var timeout: Seconds?
    @Option(
        name: .customLong("ca-file"), parsing: .unconditional, help: "A PEM file with additional root certificates.",
        completion: .file())
    var caFile: String?
    @Option(
        name: .customLong("proxy-auth"), parsing: .unconditional,
        help: "How the proxy of the environment authenticates the user. negotiate is Kerberos. (default: basic)")
    var proxyAuthentication: CurlTransport.ProxyAuthentication?

    /// The options that every command for the same server needs.
    var wordsOfNetwork: [String] {
        (caFile.map { ["--ca-file", $0] } ?? []) + (proxyAuthentication.map { ["--proxy-auth", $0.rawValue] } ?? [])
    }
}

extension ArgumentHelp {
    /// Of the flag `--json`.
    static let json: ArgumentHelp = "Print one JSON object on standard output and nothing else."
}

extension CurlTransport.ProxyAuthentication: ExpressibleByArgument {}

extension String {
    /// Checks that the value of an option is a name without control characters.
    func checkAsName(of option: String) throws {
        guard !isEmpty, utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("\(option): expected a name in one line")
        }
    }
}

/// A positive number of seconds.
struct Seconds: Sendable {
    let duration: Duration

    init(_ argument: String) throws {
        guard let seconds = Double(argument), seconds > 0, seconds <= 1_000_000 else {
            throw ValidationError("expected more than 0 and at most 1000000")
        }
        duration = .milliseconds(Int64((seconds * 1000).rounded(.up)))
    }
}

/// The value of an option that is a whole number.
enum NumberOption {
    static func value<Number: FixedWidthInteger>(_ argument: String, in range: ClosedRange<Number>) throws -> Number {
        guard let number = Number(argument), range.contains(number) else {
            throw ValidationError("expected a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
