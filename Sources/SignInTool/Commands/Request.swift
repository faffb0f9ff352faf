internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// The command `sign-in request`.
struct Request: Command {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Sends an HTTP request with a valid access token.",
        usage: "sign-in request [<method>] <url> [<options>]",
        discussion: "Example: sign-in request https://api.example.org/v1/me")

    @Argument(
        help: .init(
            "The URL: https, or http on loopback. Before it, the method, unless that is GET.", valueName: "url"))
    var words: [String]
    @Option(parsing: .unconditionalSingleValue, help: "A header field, as 'Name: value'.")
    var header: [String] = []
    @Option(parsing: .unconditional, help: "The body.")
    var data: String?
    @Option(
        name: .customLong("data-file"), parsing: .unconditional, help: "A file with the body.", completion: .file())
    var dataFile: String?
    @Flag(
        name: .customLong("step-up"),
        help: """
            If the resource is one of the session’s, and requires another sign-in or more scopes, sign in again and \
            repeat the request.
            """)
    var stepUp = false
    @Option(
        name: .customLong("step-up-at"), parsing: .unconditionalSingleValue,
        help: "As --step-up, also at this resource, and without a question.",
        transform: SecureURL.init(argument:))
    var stepUpAt: [SecureURL] = []
    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    private var stepsUp: Bool { stepUp || !stepUpAt.isEmpty }

    var defaultTimeout: Duration { .seconds(stepsUp ? 300 : 30) }

    var url: String { words.last ?? "" }
    /// Nil if the word before the URL is none.
    private var method: HTTPRequest.Method? { words.count == 1 ? .get : Self.method(words[0]) }

    /// The standard methods are in upper case (RFC 9110 §9.1). Another one must be, so that a misspelled word is no method.
    private static func method(_ word: String) -> HTTPRequest.Method? {
        let standard: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options]
        return standard.first { $0.rawValue == word.uppercased() }
            ?? (word == word.uppercased() ? HTTPRequest.Method(word) : nil)
    }

    private func validateWords() throws {
        guard words.count <= 2 else {
            throw ValidationError("expected a method and a URL, found \(words[2].foundText) after them")
        }
        // A word that is no URL, but could be a method.
        let misplaced = url.contains { "./:".contains($0) } ? nil : Self.method(url)
        if words.count == 1, let misplaced { throw ValidationError("expected a URL after the method \(misplaced)") }
        guard method == nil else { return }
        guard let misplaced else {
            throw ValidationError("expected an HTTP method such as GET, found \(words[0].foundText)")
        }
        let line = ["sign-in", "request", misplaced.rawValue, words[0]].shellLine
        throw ValidationError("expected the method before the URL: \(line)")
    }

    func validate() throws {
        try validateWords()
        guard data == nil || dataFile == nil else { throw ValidationError("--data and --data-file exclude each other") }
        for line in header {
            let field = Self.field(line)
            guard let field else { throw ValidationError("--header: expected 'Name: value', found \(line.foundText)") }
            guard field.name != .authorization else {
                throw ValidationError("--header: Authorization is reserved for the access token")
            }
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let target = try SecureURL(url)
        var request = HTTPRequest(method: method ?? .get, url: target)
        for field in header.compactMap(Self.field) { request.headerFields.append(field) }
        let body = try body()
        if body != nil, request.headerFields[.contentType] == nil {
            request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        }
        let transportRequest = TransportRequest(request, body: body)
        let deadline = ContinuousClock.now + limit
        // Once: while the server takes its time, the user may choose another session.
        let store = try await session.find(within: limit)
        let (first, record) = try await session.withState(console, in: store, within: limit) { state in
            (try await state.send(transportRequest), await state.record)
        }
        var response = first
        var unmet = "The resource requires another sign-in. To sign in again, repeat this command with --step-up."
        if stepsUp, let challenge = response.stepUpChallenge, let store {
            switch try await signIn(again: record, for: challenge, in: store, console, until: deadline) {
            case .done(let state):
                response = try await state.send(transportRequest)
                await state.finishRevoking(before: deadline)
                unmet = "The resource still requires another sign-in."
            case .leftOut(let reason): unmet = reason
            }
        }
        let status = response.status
        if json {
            try console.succeed(Self.json(response), text: "")
        } else {
            try console.print(Self.printable(response.body))
        }
        // Without the reason phrase: it has no meaning (RFC 9112 §4), and HTTP/2 has none.
        if !json || status.code >= 400 { console.say("HTTP \(status.code)") }
        // A refresh changes neither how the user signed in (RFC 9470) nor what the user granted (RFC 6749 §6).
        if response.stepUpChallenge != nil {
            console.say(unmet)
        } else if status == .unauthorized,
            let moved = await newServer(of: target, record, in: store, console, until: deadline)
        {
            console.say(moved)
        } else if !json, response.mayRefuseToken, !response.saysInvalidToken, record.refreshToken != nil,
            record.accessToken?.expiresAt != nil
        {
            // RFC 6750 §3.1: a server should say so. A token of unknown lifetime has been refreshed already.
            let place = console.line.options.filter { (SignInLine.namingOptions + ["--profile"]).contains($0.name) }
            let words = ["token", "--force-refresh"] + place.flatMap(\.words) + console.wordsOfNetwork
            console.say(
                "It gives no reason. If it has lost the token, get a new one with: \(SignInLine(words).shellLine)")
        }
        return status.code < 400 ? 0 : 1
    }

    private static func field(_ line: String) -> HTTPField? {
        guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
            return nil
        }
        let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        guard HTTPField.isValidValue(String(value)) else { return nil }
        return HTTPField(name: name, value: String(value))
    }

    private func body() throws -> [UInt8]? {
        if let data { return Array(data.utf8) }
        guard let dataFile else { return nil }
        do { return try InputFile.readWaiting(dataFile, atMost: 1 << 30) } catch .cancelled {
            throw CancellationError()
        } catch {
            throw AuthError(.invalidConfiguration, .configuration, "--data-file: \(dataFile): \(error.description)")
        }
    }

    private static func json(_ response: TransportResponse) -> JSON {
        var headers = JSON.Object()
        for field in response.headerFields {
            let name = field.name.canonicalName
            headers[name] = .string(headers[name]?.string.map { "\($0), \(field.value)" } ?? field.value)
        }
        let body = (try? JSON(parsing: response.body)) ?? .string(String(decoding: response.body, as: UTF8.self))
        return ["status": .number(.init(response.status.code)), "headers": .object(headers), "body": body]
    }

    /// Returns the body unchanged for a pipe or a file, and without control characters for a terminal.
    private static func printable(_ body: [UInt8]) -> [UInt8] {
        guard Console.isTerminal(.output) else { return body }
        let text = String(decoding: body, as: UTF8.self)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        return Array((lines.map { String($0).onOneLine }.joined(separator: "\n") + "\n").utf8)
    }
}
