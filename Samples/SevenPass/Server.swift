internal import ArgumentParser
internal import FoundationEssentials
internal import SampleSupport
internal import SevenPass

/// Which 7Pass: the double, or a real one.
struct Server: ParsableArguments, Sendable {
    @Flag(help: "Use the double of 7Pass on this machine. The default.") var demo = false
    @Option(help: "The issuer of a real server.") var issuer: String?
    @Option(name: .customLong("client-id"), help: "The client id there.") var clientID: String?
    @Option(help: "A file that holds the client's secret, of an older registration.") var clientSecretFile: String?
    @Option(name: .customLong("api-base"), help: "Where the accounts API begins; else at the issuer.")
    var apiBase: String?
    @Option(name: .customLong("param"), help: "What else to send with the sign-in, as name=value.")
    var parameters: [String] = []
    @Option(help: "The file of the session, for a real server.") var session: String?
    @Flag(help: "Start no browser: at the double, a scripted one plays the person.") var headless = false
    @Flag(
        help:
            "Choose Facebook. At the double, a scripted browser plays all of it; else give its answers on standard input."
    )
    var facebook = false
    @Flag(help: "Say that Facebook's app is on this desktop, whether it is or not.") var facebookApp = false
    @Option(help: "Where 7Pass takes Facebook's answers; else that of QA.") var externalCallback: String?

    func validate() throws {
        if issuer == nil {
            let real = [clientID, clientSecretFile, apiBase, session, externalCallback]
            guard real.allSatisfy({ $0 == nil }) else { throw ValidationError("expected --issuer with these options") }
        } else {
            guard !demo else { throw ValidationError("expected --demo or --issuer, found both") }
            guard clientID?.isEmpty == false else { throw ValidationError("expected --client-id with --issuer") }
        }
        guard parameters.allSatisfy({ $0.dropFirst().contains("=") }) else {
            throw ValidationError("--param: expected name=value")
        }
    }

    /// Whether there is a session to end; at the double there is one each time.
    func isSignedIn() async throws -> Bool { issuer == nil ? true : try await store().load() != nil }

    /// Signs in, and goes on with the session.
    func withSession(_ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        guard let issuer, let clientID else { return try await Demo(server: self).run(body) }
        var configuration = SevenPassConfiguration(
            issuer: issuer, clientID: clientID, clientSecret: try clientSecretFile.map(Self.secret), apiBase: apiBase)
        configuration.parameters = parameterPairs
        configuration.facebook = .qa
        if let externalCallback {
            configuration.facebook = .init(
                appID: SevenPassConfiguration.Facebook.qa.appID, externalCallback: externalCallback)
        }
        let answers = facebook ? AsyncStream.linesOfStandardInput : nil
        try await body(
            signIn(
                configuration, store: store(), browser: headless ? nil : .system, desktop: desktop, answers: answers))
    }

    /// Whether Facebook's app is there: as the desktop says, unless the options say it.
    var desktop: DesktopHandlers { facebookApp ? DesktopHandlers { _ in "facebook.desktop" } : .system }

    var parameterPairs: [AuthorizationRequest.Options.Parameter] {
        parameters.map { text in
            let name = text.prefix { $0 != "=" }
            return .init(String(name), String(text.dropFirst(name.count + 1)))
        }
    }

    private func store() throws -> FileTokenStore {
        try session.map(FileTokenStore.init(path:)) ?? StateFile.store("seven-pass")
    }

    private static func secret(_ path: String) throws -> Secret {
        guard let data = FileManager.default.contents(atPath: path), let text = String(validating: data, as: UTF8.self),
            let line = text.split(whereSeparator: \.isNewline).first
        else { throw AuthError(.invalidConfiguration, .configuration, "expected a secret in \(path), found none") }
        return Secret(String(line))
    }
}
