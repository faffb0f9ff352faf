internal import ArgumentParser
internal import VendorSample
internal import SevenPass

/// The program `seven-pass`: every function of an app at 7Pass.
@main
struct SevenPassSample: SampleCommand, Sendable {
    enum Action: String, CaseIterable, ExpressibleByArgument {
        case signIn = "sign-in", claims, me, addOptIn = "add-optin", optIns = "optins", removeOptIn = "remove-optin"
        case refresh, logout
    }

    static let configuration = CommandConfiguration(
        commandName: "seven-pass", abstract: "Signs in at 7Pass, and manages the account.",
        discussion: """
            Performs the actions in order. By default, it starts a simulated 7Pass server on this machine, and stops \
            it at the end. It registers --client-id and --redirect-uri there. With --server, it uses the server of that \
            issuer, and keeps the session for the next run.
            """)

    @Argument(help: "The actions.") var actions = Action.allCases
    @Option(help: "The type of the opt-in that is added or removed.") var type = "sms"
    @Option(help: "The scope, for example 'openid email'. The default also asks for a refresh token.") var scope:
        String?
    @Option(help: ArgumentHelp("How long logout waits for the browser.", valueName: "seconds"))
    var logoutTimeout = 60
    @OptionGroup var server: Server
    @Option(name: .customLong("api-base"), help: "The base URL of the accounts API. The default is the issuer.")
    var apiBase: String?
    @Option(name: .customLong("redirect-uri"), help: "A redirect URI with a private-use scheme; else loopback.")
    var redirectURI: String?
    @Option(name: .customLong("param"), help: ArgumentHelp("Another request parameter.", valueName: "name=value"))
    var parameters: [Assignment] = []
    @Flag(help: "Start no browser. At the simulated server, a scripted browser signs in.") var headless = false
    @Flag(help: "Offer Facebook. The desktop brings its responses; with --headless, standard input does.")
    var facebook = false
    @Option(help: "The URL for Facebook's responses at 7Pass. The default is that of QA.") var externalCallback: String?
    @Option(help: .hidden) var deliver: String?

    func validate() throws {
        guard logoutTimeout > 0 else { throw ValidationError("expected --logout-timeout with 1 second or more") }
        if !server.isReal, [apiBase, externalCallback].contains(where: { $0 != nil }) {
            throw ValidationError("expected --server with --api-base and --external-callback")
        }
    }

    func run() async throws {
        // The desktop has started this process for a redirect that another process awaits.
        if let deliver { return try PrivateUseRedirect.deliver(deliver) }
        try await server.visit("seven-pass", registering: redirectURI.map { [$0] } ?? []) { location in
            if actions == [.logout], try await location.store.load() == nil { return tell("No user is signed in.") }
            func demo(_ name: String) -> String? { location.demo[name]?.string }
            var configuration = try SevenPassConfiguration(
                issuer: Issuer(location.url), clientID: location.clientID, clientSecret: location.secret,
                apiBase: apiBase ?? demo("api_base"))
            if let scope { configuration.scope = scope.split(separator: " ").map { Scope(rawValue: String($0)) } }
            configuration.parameters = parameters.map { .init($0.name, $0.value) }
            let qa = SevenPassConfiguration.Facebook.qa
            configuration.facebook = .init(
                appID: demo("facebook_app_id") ?? qa.appID,
                externalCallback: externalCallback ?? demo("external_callback") ?? qa.externalCallback)
            let store = location.store
            try await DemoUser.visit(
                location, isReal: server.isReal, headless: headless, choosing: facebook ? "facebook" : ""
            ) { [configuration] browser, responses in
                let app = App(
                    configuration: configuration, store: store, redirectURI: redirectURI, browser: browser,
                    offersFacebook: facebook, responses: responses, logoutLimit: .seconds(logoutTimeout))
                try await app.perform(actions, type)
            }
        }
    }
}
