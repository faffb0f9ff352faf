internal import AppAuth
internal import ArgumentParser
internal import JOSE

/// `sign-in device`
struct Device: Command {
    static let configuration = CommandConfiguration(
        abstract: "Signs in with a code that is entered on another device, and stores the session.")

    @Option(parsing: .unconditional, help: "The provider's issuer URL.")
    var issuer: String
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: "What to ask for, separated by spaces.")
    var scope = "openid profile offline_access"
    @Option(
        parsing: .unconditional, help: "Where to store the session: file:PATH, keyring or memory.",
        transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(300) }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        let secret = try client.secret()
        var signIn = DeviceSignIn(
            issuer: issuer, clientID: clientID, clientSecret: secret, scope: [Scope](spaceDelimited: scope),
            environment: console.environment)
        signIn.authentication = client.authentication(secret)
        let shown = Guarded<Countdown?>(nil)
        defer { shown.withLock { $0?.stop() } }
        signIn.observe = { event in
            switch event {
            case .code(let code):
                Self.show(code, console)
                let countdown = Countdown(min(code.expiresIn, ContinuousClock.now.duration(to: deadline)))
                shown.withLock { $0 = countdown }
                countdown.start()
            case .slowedDown(let interval):
                shown.withLock { $0 }?.say("The provider wants to be asked less often: every \(interval.inSeconds).")
            case .connectionTrouble(let error, let pause):
                shown.withLock { $0 }?.say("\(error.message). Asking again in \(pause.inSeconds).")
            case .provider, .waiting, .signedIn: break
            }
        }
        let store = try StateFolder.store(self.store, issuer: issuer, clientID: clientID)
        let record = try await signIn.run(store: store).record
        StateFolder.note(store, console)
        shown.withLock { $0?.stop() }
        try console.succeed(.object(record.summary), text: Login.text(record, nil))
        return 0
    }

    private static func show(_ code: DeviceAuthorization, _ console: Console) {
        console.say("To sign in, open this page on any device with a browser, and enter the code:")
        console.say("  \(code.verificationURI)")
        console.say("  \(code.userCode)")
        if let complete = code.verificationURIComplete {
            console.say("Or open this one, and compare the code:")
            console.say("  \(complete)")
        }
        guard
            let picture = QRCode((code.verificationURIComplete ?? code.verificationURI).string),
            picture.fits(.error)
        else { return }
        for line in picture.lines { Console.write(line + "\n", to: .error) }
    }
}

extension Duration {
    /// Whole seconds, rounded up: `5 s`.
    fileprivate var inSeconds: String { "\(components.seconds + (components.attoseconds > 0 ? 1 : 0)) s" }
}
