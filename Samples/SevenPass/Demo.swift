internal import AppAuth
internal import SampleSupport
internal import SevenPass

/// The double of 7Pass, and who plays the person there.
struct Demo: Sendable {
    let server: Server

    func run(_ body: @escaping @Sendable (Session) async throws -> Void) async throws {
        let double = try DemoServer(double: "seven-pass")
        defer { double.end() }
        let demo = try await double.demo()
        func text(_ name: String) -> String { demo[name]?.string ?? "" }
        let client = demo["clients"]?.array?.first?["client_id"]?.string ?? ""
        var configuration = SevenPassConfiguration(
            issuer: text("issuer"), clientID: client, apiBase: text("api_base"))
        configuration.parameters = server.parameterPairs
        configuration.facebook = .init(appID: text("facebook_app_id"), externalCallback: text("external_callback"))
        tell("A double of 7Pass is listening on this machine: \(text("base_url"))")
        guard server.headless || server.facebook || Person.isAbsent else {
            tell("Sign in as \(text("username")) with the password \(text("password")).")
            return try await body(signIn(configuration, store: MemoryTokenStore(), browser: .system))
        }
        tell("A scripted browser plays the person's part\(server.facebook ? ", and Facebook's" : "").")
        let (answers, answer) = AsyncStream.makeStream(of: String.self)
        let entries = [
            "username": text("username"), "password": text("password"), "provider": server.facebook ? "facebook" : "",
        ]
        try await Person.scripted(
            Environment.live.transport, entries: entries,
            leave: { [base = text("base_url")] url, open in
                // A desktop starts Facebook's app for the one scheme, and this program for the other.
                if url.hasPrefix(FacebookSignIn.appScheme + ":") {
                    open(base + "/facebook/app" + url.drop { $0 != "?" })
                } else {
                    answer.yield(url)
                }
            }
        ) { [server, configuration] browser in
            let session = try await signIn(
                configuration, store: MemoryTokenStore(), browser: browser, isScripted: true,
                desktop: server.desktop, answers: server.facebook ? answers : nil)
            try await body(session)
        }
    }
}
