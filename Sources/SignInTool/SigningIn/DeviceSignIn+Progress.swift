internal import AppAuth
internal import AppAuthConcurrency
internal import JOSE

extension DeviceSignIn {
    /// Signs in, and shows the code, the time that is left and the events on standard error.
    ///
    /// - Parameters:
    ///   - deadline: The time at which the command must end.
    ///   - line: The command line that signs in.
    func run(
        store: any TokenStore, _ console: Console, until deadline: ContinuousClock.Instant, line: SignInLine
    ) async throws -> AuthState {
        let shown = LockedValue<Countdown?>(nil)
        defer { shown.withLock { $0?.stop() } }
        console.advice.note(
            self.authentication ?? self.clientSecret.map { .clientSecretBasic($0) } ?? ClientAuthentication.none)
        var signIn = self
        signIn.observe = { event in
            switch event {
            case .code(let code):
                code.show(console)
                let countdown = Countdown(min(code.expiresIn, ContinuousClock.now.duration(to: deadline)))
                shown.withLock { $0 = countdown }
                if !console.hasStatusLine { console.say("Waiting: \(countdown.left) left.") }
                countdown.start(console)
            // Each once, and without the provider's own words: they could push what the user has to know off the screen.
            case .polling(.slowedDown):
                console.sayOnce("The provider wants fewer requests. Asking less often now.")
            case .polling(.connectionTrouble(let error, _)):
                let what = error.httpStatus == nil ? error.message.asSentence : "The provider cannot answer now"
                console.sayOnce("\(what). Trying again.")
            case .provider(let provider):
                if self.dpop != nil { console.sayIfWithoutDPoP(provider) }
            case .scopesLeftOut(let scopes): console.sayLeftOut(scopes)
            case .polling(.waiting), .signedIn: break
            }
        }
        return try await console.asking(
            by: line, scope: configuration.scope, dpop: configuration.dpop != nil
        ) { [signIn] confirmed in
            var signIn = signIn
            signIn.confirmed = confirmed
            return try await signIn.run(store: store)
        }
    }
}

extension DeviceAuthorization {
    fileprivate func show(_ console: Console) {
        console.say("To sign in, open this page on any device with a browser and enter the code:")
        console.say("  \(verificationURI.string.shownURL)")
        // Not at the begin of the line: it may be any words, which a shell would run.
        Console.write("  Code: \(console.styled(userCode.onOneLine, .bold))\n", to: .error)
        if let verificationURIComplete {
            console.say("Or open this page and compare the code:")
            console.say("  \(verificationURIComplete.string.shownURL)")
        }
        let warnings = warnings
        if let picture = QRCode((verificationURIComplete ?? verificationURI).string),
            picture.fits(.error, with: warnings)
        {
            for line in picture.lines { Console.write(line + "\n", to: .error) }
        }
        // Last: what comes before could push it off the screen, and the provider chooses how long that is.
        for line in warnings { console.say(line) }
    }

    private var warnings: [String] {
        let issuer = request.client.provider.issuer.url
        let own =
            "This command has requested the code at \(issuer.shownHost). Never enter a code that someone has sent you: it "
            + "would sign in the sender as you."
        guard isElsewhere else { return [own] }
        let pages = [verificationURI, verificationURIComplete].compactMap { $0?.shownHost }
        let others = Set(pages).sorted().joined(separator: " and ")
        let warning =
            "Warning: the page is on \(others), but the code was requested at \(issuer.shownHost). Go on only if you "
            + "know that they belong together."
        return [own, warning]
    }
}
