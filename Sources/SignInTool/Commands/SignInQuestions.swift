internal import AppAuth
internal import FoundationEssentials

/// The questions to a user at a terminal who has not said where to sign in, or as which client. Each answer is an option of
/// `sign-in login`, so the answers are a command line that asks nothing.
struct SignInQuestions {
    private let login: Login
    private let console: Console
    private let discovery: Discovery
    /// The words after `login`.
    private var words: [String]

    init(of login: Login, _ console: Console) {
        (self.login, self.console, discovery) = (login, console, Discovery(environment: console.environment))
        words = Array(console.line.words.dropFirst())
    }

    /// Asks, and returns the complete command line.
    mutating func answers(to missing: Login.Missing) async throws -> [String] {
        var provider = login.provider
        if missing == .provider {
            switch try await askForProvider(orElse: login.wrongUsage(.provider)) {
            case .profile(let profile): return ["login"] + words + ["--profile", profile.name]
            case .preset(let preset): provider.preset = preset
            case .issuer(let issuer): provider.issuer = issuer
            }
            words = provider.words + words
        }
        let preset = try provider.provider()
        let isKnown = login.usual.clientID != nil || RegisteredClients.mayHaveAny(at: preset.issuer.string)
        if !isKnown { try await askForClient(at: preset, of: provider) }
        return ["login"] + words
    }

    // MARK: Where

    private enum Answer {
        case profile(Profile), preset(ProviderOptions.Preset), issuer(String)
    }

    private typealias Choice = (name: String, meaning: String, answer: Answer)

    /// The number of profiles in the list, which fits on a screen.
    private static let most = 12

    /// The stored profiles, unless the options name a new one or what no profile completes, and the presets.
    private var choices: [Choice] {
        let isOpen = login.session.profile == nil && !console.line.namesSession
        let profiles = isOpen ? (try? Profile.all()) ?? [] : []
        let named = profiles.map { profile in
            let line = (try? profile.signIn) ?? SignInLine([])
            let place = ["--issuer", "--preset", "--resource", "--token-endpoint"].lazy.compactMap(line.value(of:))
                .first
            return Choice(profile.name, "your profile" + (place.map { ", at \($0)" } ?? ""), .profile(profile))
        }
        return named + ProviderOptions.Preset.listed.map { ($0.name, $0.preset.issuer.string, .preset($0)) }
    }

    private func askForProvider(orElse missing: WrongUsage) async throws -> Answer {
        let choices = choices
        let hidden = max(0, choices.count - ProviderOptions.Preset.listed.count - Self.most)
        let shown = Array(choices.prefix(Self.most)) + choices.dropFirst(Self.most + hidden)
        let width = shown.map(\.name.count).max() ?? 0
        let isNew = login.session.profile.map { " The profile \($0.name) will remember it." } ?? ""
        console.say("Where do you want to sign in?\(isNew)")
        for (index, choice) in shown.enumerated() {
            let number = index < 9 ? " \(index + 1)" : "\(index + 1)"
            let name = choice.name.padded(toCells: width)
            console.say(" \(number)  \(name)  \(choice.meaning)".shortened(to: 79))
        }
        if hidden > 0 { console.say("     and \(hidden) more profiles, by name") }
        let (discovery, prompt) = (discovery, "A number or name, or the URL or host of another provider: ")
        return try await answer(prompt, expecting: "a provider", orElse: missing) { text in
            if let number = Int(text), number > 0, number <= shown.count { return shown[number - 1].answer }
            if let choice = choices.first(where: { $0.name == text }) { return choice.answer }
            let issuer = try Self.issuer(text, atMost: shown.count)
            if let preset = ProviderOptions.Preset(of: issuer) { return .preset(preset) }
            return .issuer(try await Self.discover(issuer, discovery).issuer.string)
        }
    }

    /// Returns the issuer that the user has typed, with or without a scheme.
    private static func issuer(_ text: String, atMost count: Int) throws -> Issuer {
        // A misspelled name from the list is no host.
        guard text.contains(".") || text.contains(":") || text == "localhost" else {
            throw refusal("expected a number from 1 to \(count), a name from the list, or a URL or host", text)
        }
        guard !text.contains("://"), let url = try? SecureURL("https://" + text) else { return try Issuer(text) }
        return try Issuer((url.isLoopback ? "http://" : "https://") + text)
    }

    /// Fetches the metadata, so that a misspelled issuer is found before the next question. Some issuers end with a slash,
    /// which nobody types.
    private static func discover(_ issuer: Issuer, _ discovery: Discovery) async throws -> ProviderMetadata {
        do { return try await discovery.metadata(for: issuer) } catch let error as AuthError {
            guard error.code == .issuerMismatch, !issuer.string.hasSuffix("/"),
                let found = try? await discovery.metadata(for: Issuer(issuer.string + "/"))
            else { throw error }
            return found
        }
    }

    // MARK: As which client

    private mutating func askForClient(at preset: ProviderPreset, of options: ProviderOptions) async throws {
        // The providers of presets offer no registration, and their clients have secrets.
        let isPreset = options.preset != nil
        var provider: ProviderMetadata?
        if preset.metadata == nil, !isPreset {
            let found = try await discovery.metadata(for: preset.issuer, at: options.metadataURL)
            // Some providers have the endpoint only in the document of RFC 8414.
            let complete = (try? await discovery.complete(found, with: .registration)) ?? found
            if complete[.registration] != nil { provider = complete }
        }
        let place = preset.issuer.url.shownHost
        console.say("The client id is what \(place) calls your app.")
        let (login, console) = (login, console)
        let prompt = provider == nil ? "Client id: " : "Client id, or only Enter to register a client there: "
        let id = try await answer(prompt, expecting: provider == nil ? "a client id" : nil, orElse: options.noClient) {
            text in
            guard let provider, text.isEmpty else { return text }
            let uris =
                try login.redirect.uris(onlyOf: nil)
                ?? [LoopbackRedirectListener.freeRedirectURI(path: RedirectOptions.defaultPath)]
            let scope = login.usual.scope.map([Scope].init(spaceDelimited:)) ?? []
            return try await provider.register(uris, scope: scope, for: nil, console).client.id
        }
        words += ["--client-id", id]
        guard isPreset, !login.client.isGiven else { return }
        let file = try await answer(
            "A file with the client’s secret, or only Enter for none: ", expecting: nil,
            orElse: WrongUsage("expected --client-secret-file")
        ) { text in
            if !text.isEmpty { _ = try SecretFile.read(text, of: nil) }
            return text
        }
        if !file.isEmpty { words += ["--client-secret-file", file] }
    }

    // MARK: Asking

    /// Asks until the answer is right, at most twice.
    ///
    /// - Parameters:
    ///   - expected: What the user must type; nil if only Enter is an answer, too.
    ///   - missing: The error if there is no answer: the terminal is gone, or the user has pressed Ctrl-D.
    ///   - check: Throws an ``AuthError`` that says what was expected, and what was found.
    private func answer<Value>(
        _ prompt: String, expecting expected: String?, orElse missing: WrongUsage,
        _ check: (String) async throws -> Value
    ) async throws -> Value {
        func checked(_ text: String) async throws -> Value {
            if let expected, text.isEmpty { throw Self.refusal("expected \(expected)", text) }
            return try await check(text)
        }
        do { return try await checked(line(prompt, orElse: missing)) } catch let error as AuthError {
            console.note(error.message)
        }
        return try await checked(line(prompt, orElse: missing))
    }

    private func line(_ prompt: String, orElse missing: WrongUsage) async throws -> String {
        // What was typed before the question is no answer to it: Enter alone may register a client.
        guard let input = console.input, input.discardTyped() else { throw missing }
        Console.write(prompt.onOneLine, to: .error)
        for try await line in InputLines.stream(from: input, isShown: true, { _ in }) { return line.trimmingWhitespace }
        // The cursor is after the question.
        Console.write("\n", to: .error)
        try Task.checkCancellation()
        throw missing
    }

    private static func refusal(_ expected: String, _ found: String) -> AuthError {
        AuthError(
            .invalidConfiguration, .configuration, "\(expected), found \(found.isEmpty ? "nothing" : found.foundText)")
    }
}

extension String {
    fileprivate var trimmingWhitespace: String {
        String(drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
