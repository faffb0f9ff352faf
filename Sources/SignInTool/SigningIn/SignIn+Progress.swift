internal import AppAuth
internal import AppAuthConcurrency
internal import Logging

extension SignIn {
    /// Signs in with the browser, or in the way that the user chooses while the browser is awaited. Shows the steps and the
    /// time that is left on standard error.
    ///
    /// - Parameters:
    ///   - deadline: The time at which the command must end.
    ///   - line: The command line that signs in.
    ///   - deviceLine: The command line that signs in with a code instead; nil if that cannot replace this sign-in.
    func run(
        store: any TokenStore, _ console: Console, until deadline: ContinuousClock.Instant, line: SignInLine,
        deviceLine: SignInLine?
    ) async throws -> AuthState {
        let limit = ContinuousClock.now.duration(to: deadline)
        var signIn = self
        signIn.pages = CompletionPages(appName: "sign-in", inTerminal: true)
        signIn.timeout = limit
        let isPosted = (try? options.withTypedParameters())?.responseMode?.isPosted == true
        let ways = WaysWithoutBrowser(console: console, canPaste: !isPosted, deviceCommand: deviceLine?.shellLine)
        let (countdown, waiting) = (Countdown(limit), WaitingNote(within: limit))
        defer { countdown.stop() }
        signIn.observe = { event in
            if case .authorization = event { countdown.start(console) }
            if case .redirected = event { countdown.stop() }
            show(event, ways, waiting, console)
        }
        signIn.pasted = ways.lines
        do {
            return try await console.asking(
                by: line, scope: configuration.scope, dpop: configuration.dpop != nil
            ) { [signIn] confirmed in
                var signIn = signIn
                signIn.options.confirmed = confirmed
                return try await signIn.run(store: store)
            }
        } catch is WaysWithoutBrowser.DeviceWanted {
            console.waitForBrowser(false)
            countdown.stop()
            var device = DeviceSignIn(configuration)
            (device.confirm, device.resources, device.replaceable) = (confirm, options.resources, replaceable)
            return try await device.run(store: store, console, until: deadline, line: deviceLine ?? line)
        }
    }

    private func show(
        _ event: Event, _ ways: WaysWithoutBrowser, _ waiting: WaitingNote, _ console: Console
    ) {
        switch event {
        case .authorization(let url):
            console.say(
                browser == nil
                    ? "Open this URL in a browser to sign in:"
                    : "Sign in with the browser. If none opens, open this URL:")
            console.say("  \(url.quotedAgainstJobs)")
            console.waitForBrowser()
            console.log("authorization: listening for the redirect and starting the browser")
        case .browserObstacle(let obstacle):
            waiting.tell(obstacle, console)
            if obstacle.kind == .sshSession { ways.offerPasting() }
        case .withoutBrowser(let error, let canUseDevice):
            if let error {
                console.say("No browser could be started: \(error.message). Open the URL above in a browser.")
            }
            ways.offerPasting()
            if canUseDevice { ways.offerDevice() }
        case .wrongPaste(let error): console.say("That address can’t be used: \(error.message).")
        case .foreignRedirect(let error):
            let what = error.map { "with the error \($0.rawValue), and " } ?? ""
            console.sayOnce("The browser came back \(what)without the state of this sign-in. Still waiting.")
        case .provider(let provider):
            console.log("discovery: the metadata has everything that the sign-in needs")
            if configuration.dpop != nil { console.sayIfWithoutDPoP(provider) }
        case .scopesLeftOut(let scopes): console.sayLeftOut(scopes)
        case .requesting(let request):
            for parameter in request.overruled {
                console.say("The provider’s own address has \(parameter.shownName). Your option takes its place.")
            }
            console.advice.note(request.client.authentication, at: request.client.provider)
            if console.isExplaining { Explanation().show(request) }
        case .stillWaiting(let request):
            for line in request.whatToCompare { console.say(line) }
            // What only a resource has named is not repeated as the user's choice.
            let provider = request.client.provider
            let client =
                provider.resource == nil ? ["--issuer", provider.issuer.string, "--client-id", request.client.id] : []
            // The page may say that there is no such client, which this program does not see.
            let registered = try? RegisteredClients.find(
                issuer: provider.issuer.string, clientID: request.client.id, for: options.resources)
            if let registered, !registered.isOurs {
                // Without the end of the sentence that an error begins.
                console.say(String(registered.replacement(console).dropFirst(2)))
            }
            // Without them, the profile in use would be examined.
            let doctor = SignInLine(["doctor"] + client)
            if (try? Profile.applying(to: doctor)) == nil {
                console.say("To find out what is wrong: \(doctor.shellLine)")
            }
            waiting.sayObstacles(console)
            // The browser may have opened where the user does not see it, for example on the desktop of a tmux session that is used over SSH.
            ways.offerPasting()
        case .redirected:
            console.waitForBrowser(false)
            console.log("redirect: received the response to this request: its state is the one that was sent")
        case .signedIn: console.log("store: stored the session")
        }
    }
}
