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
        transform: { argument in
            do { return try SecureURL(argument) } catch let error as AuthError {
                throw ValidationError(error.message)
            }
        })
    var stepUpAt: [SecureURL] = []
    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    private var stepsUp: Bool { stepUp || !stepUpAt.isEmpty }

    var defaultTimeout: Duration { .seconds(stepsUp ? 300 : 30) }

    private var url: String { words.last ?? "" }
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
        }
        return status.code < 400 ? 0 : 1
    }

    /// Returns where to sign in, if a resource of the session has moved to another authorization server. Nothing of the
    /// session is of use there.
    private func newServer(
        of url: SecureURL, _ record: AuthStateRecord, in store: (any TokenStore)?, _ console: Console,
        until deadline: ContinuousClock.Instant
    ) async -> String? {
        let former = record.client.provider.issuer
        let own = record.resources.compactMap { try? SecureURL($0) }.first(where: url.isWithin)
        guard let own else { return nil }
        // Only for the message, which must not wait for long.
        let limit = min(.seconds(5), deadline - .now)
        let resource = try? await withTimeout(limit, .resource, "no metadata") {
            try await Discovery(environment: console.environment).protectedResource(
                at: own.string, initializing: true)
        }
        guard let resource, !resource.authorizationServers.isEmpty, !resource.lists(former) else { return nil }
        let profile = (try? session.profile(of: store)) ?? nil
        let place =
            (profile.map { ["--profile", $0.name] } ?? []) + (session.store.map { ["--store", $0.argument] } ?? [])
        var words = ["login", "--resource", own.string] + place
        let servers = resource.authorizationServers.map(\.description).joined(separator: ", ")
        var before: String?
        let ofServer = SignInLine.providerOptions + ["--client-id"]
        if let profile, let known = try? profile.signIn, ofServer.contains(where: { known.value(of: $0) != nil }) {
            before = "Forget the profile with: sign-in logout --profile \(profile.name) --forget"
            // What it remembers of this machine.
            words += known.options.filter { ["--store", "--dpop", "--key-in"].contains($0.name) }.flatMap(\.words)
        } else if let store, place.isEmpty {
            // Without a name, the new session has a place of its own, and commands would have to choose.
            let entry = StateFolder.Entry(store: store, profile: nil, record: .success(record))
            before = "Sign out of this session with: sign-in logout \(SessionOptions.choices([entry])[0])"
        }
        return
            "\((own.shownHost + own.path).shownURL) no longer accepts tokens of \(former): it is protected by \(servers) now. "
            + (before.map { "\($0). Then sign in " } ?? "Sign in ")
            + "there with: \(SignInLine(words + console.wordsOfNetwork).withItsOwnProfile.shellLine)"
    }

    private enum StepUp {
        case done(AuthState)
        /// There was no sign-in, for this reason.
        case leftOut(String)
    }

    /// Signs in again as the client of the session, and replaces the session. Leaves it out if it would not have more
    /// scopes, although the resource requires them, or if the user does not want it.
    private func signIn(
        again record: AuthStateRecord, for challenge: StepUpChallenge, in store: any TokenStore, _ console: Console,
        until deadline: ContinuousClock.Instant
    ) async throws -> StepUp {
        let isAboutScope = challenge.acrValues.isEmpty && challenge.maxAge == nil && challenge.claims == nil
        var needed = challenge.scope
        if isAboutScope, needed.isEmpty {
            needed = (try? await Discovery(environment: console.environment).protectedResource(at: url))?.scope ?? []
        }
        if isAboutScope, needed.allSatisfy(record.scope.contains) {
            return .leftOut(
                needed.isEmpty
                    ? "The resource does not say which scopes it requires, so another sign-in would not help."
                    : "The session has the scopes that the resource requires, so another sign-in would not help.")
        }
        let line = try session.line(store, record, console, requesting: needed)
        if let source = record.source {
            let target = try SecureURL(url)
            let from = "The session comes from the profile \(source.name)"
            // Scopes that a foreign API demands do not get into a line to paste: it would sign in without a question.
            guard record.isOwnResource(target) || stepUpAt.contains(where: target.isWithin),
                challenge.canBeShown(with: needed)
            else {
                return .leftOut(
                    "\(from). No sign-in for what \(target.shownHost.shownURL) requires is shown: it is no resource of the "
                        + "session, or requires too much.")
            }
            return .leftOut("\(from). For more scopes, sign in with: \(line.shellLine)")
        }
        let usual = try session.line(store, record, console)
        guard try await mayStepUp(record, for: challenge, scope: needed, orElse: usual, console) else {
            return .leftOut("You did not sign in again.")
        }
        if let preset = record.client.provider.preset {
            console.log("step-up: signing in as with --preset \(preset.name)")
        }
        let scope = record.scopeToRequestAgain.adding(needed)
        let target = try SignInTarget(
            of: record, scope: scope, try StateFolder.profile(of: store)?.signIn?.certificate, console.environment)
        var signIn = SignIn(target.configuration, appName: "sign-in")
        signIn.options = target.options
        (signIn.options.loginHint, signIn.options.resources) = (record.loginHint, record.resources)
        signIn.options.meet(challenge)
        signIn.redirect = target.redirect
        signIn.confirm = { try await $0.record.requireContinuation(of: record) }
        signIn.replaceable = Replaceable(continuing: record)
        // A code for another device carries no further parameters.
        let deviceLine =
            isAboutScope ? try session.line(store, record, console, requesting: needed, by: "device") : nil
        do {
            return .done(
                try await signIn.run(store: store, console, until: deadline, line: line, deviceLine: deviceLine))
        } catch let error as AuthError where target.isAboutRegistration(error) {
            console.advice.note(nil)
            throw try session.forgotten(error, record, store, console)
        }
    }

    /// Returns whether the user agrees to what the resource demands. Without a terminal, the options are the agreement.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/confirmationRequired`` if the resource is not one of the session's,
    ///   and neither the options nor a user at a terminal agree.
    private func mayStepUp(
        _ record: AuthStateRecord, for challenge: StepUpChallenge, scope: [Scope], orElse line: SignInLine,
        _ console: Console
    ) async throws -> Bool {
        let target = try SecureURL(url)
        let api = (target.shownHost + target.path).shownURL.shortened(to: 300)
        let demand = "\(api) requires another sign-in: \(challenge.demand(scope))"
        let isOwn = record.isOwnResource(target)
        if stepUpAt.contains(where: target.isWithin) || (isOwn && !console.canAsk) {
            console.say("\(demand). Signing in again.")
            return true
        }
        // Whoever has to agree must see all of it.
        guard challenge.canBeShown(with: scope) else {
            let (what, option) =
                if !scope.isEmpty {
                    ("\(scope.count) scopes", "--scope")
                } else if challenge.claims != nil {
                    ("claims", "--param claims=JSON")
                } else {
                    ("\(challenge.acrValues.count) classes of authentication", "--acr-values")
                }
            var error = AuthError(
                .invalidResponse, .authorization,
                "\(api) requires \(what), too many or too odd to show. Name those that you want it to have with \(option)",
                outcome: .notSent)
            error.message += ". Sign in with: \(line.shellLine)"
            throw error
        }
        guard console.canAsk else {
            let resource = "\(target.scheme)://\(target.authority)\(target.path)"
            var error = AuthError(
                .confirmationRequired, .authorization, "\(demand). It is not a resource of this session",
                outcome: .notSent)
            error.message +=
                ". If you trust it with such a token, name it with " + ["--step-up-at", resource].shellLine
            throw error
        }
        return try await console.ask(
            (isOwn ? "" : "It is not a resource of this session. ") + "Sign in again for it?", about: ["\(demand)."])
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
            throw AuthError(
                .invalidConfiguration, .configuration, "--data-file: \(dataFile): \(error.description)",
                outcome: .notSent)
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
