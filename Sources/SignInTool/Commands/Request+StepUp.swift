internal import AppAuth

/// A sign-in that meets the demand of a resource (RFC 9470).
extension Request {
    enum StepUp {
        case done(AuthState)
        /// There was no sign-in, for this reason.
        case leftOut(String)
    }

    /// Signs in again as the client of the session, and replaces the session. Leaves it out if it would not have more
    /// scopes, although the resource requires them, or if the user does not want it.
    func signIn(
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
        signIn.options.resources = record.resources
        signIn.options.meet(challenge)
        signIn.redirect = target.redirect
        signIn.confirm = { try await $0.record.requireRefreshToken(of: record) }
        signIn = signIn.continuing(record)
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
        // Users agree only to what they have seen.
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
}
