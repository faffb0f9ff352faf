internal import AppAuth
internal import HTTPTypes
internal import JOSE

extension SignInTarget {
    /// Signs in. If the provider has forgotten a client that an earlier sign-in registered by itself, or if a client's port is
    /// busy, registers once more and signs in again.
    ///
    /// - Parameters:
    ///   - target: Returns the target, with a new client in place of one that can no longer be used.
    ///   - session: The options of the session.
    ///   - clientID: The client of the options, if they name one.
    ///   - limit: The time limit for waits for the store.
    ///   - body: Signs in at the target, and stores the session in the store, in the place of one that may be replaced.
    static func signIn<Value>(
        _ session: NewSessionOptions, clientID: String?, within limit: Duration, _ console: Console,
        at target: (_ replacing: RegisteredClient?) async throws -> SignInTarget,
        _ body: (SignInTarget, any TokenStore, Replaceable) async throws -> Value
    ) async throws -> Value {
        let replaceable = try await session.replaceable(console)
        func signIn(at chosen: SignInTarget) async throws -> Value {
            let store = try session.store(chosen.sessionName).within(limit)
            let replaceable = if let replaceable { replaceable } else { try await session.replaceable(in: store) }
            try await session.requireSameServer(as: chosen.issuer, of: store, clientID: clientID, console)
            return try await body(chosen, store, replaceable)
        }
        let first = try await target(nil)
        let earlier = try await session.session(of: first.registered)
        do { return try await first.withAcceptedRequest(console, signIn(at:)) } catch var error as AuthError
            where first.isAboutRegistration(error)
        {
            // Another program may have taken the port that has just been registered.
            let isTaken = first.isNew && error.code == .listener
            guard let former = first.registered, !first.isNew || isTaken else { throw error }
            console.advice.note(nil)
            guard former.isOurs else {
                error.message +=
                    error.code == .listener
                    ? ". If the provider accepts other ports, name free ones with --redirect-port"
                    : first.change(of: former) ?? former.replacement(console)
                throw error
            }
            console.say("\(error.message.asSentence).")
            console.say(
                isTaken
                    ? "The port was free before the registration: registering once more."
                    : "The client that was registered by an earlier sign-in can’t be used: registering once more.")
            let second = try await target(former)
            let value = try await second.withAcceptedRequest(console, signIn(at:))
            // Some servers give every registration the same id: then the new session is in its place.
            if second.configuration.clientID != former.client.id {
                try await session.removeSession(earlier, of: former)
            }
            return value
        }
    }

    /// Signs in. If the provider refuses what this program has added to the request, and the user has not named, signs in again
    /// without it, and says so.
    private func withAcceptedRequest<Value>(
        _ console: Console, _ signIn: (SignInTarget) async throws -> Value
    ) async throws -> Value {
        var target = self
        while true {
            do { return try await signIn(target) } catch let error as AuthError {
                guard let (less, difference) = await target.takingBack(whatRefuses: error) else { throw error }
                console.say("\(error.message.asSentence).")
                console.say("Signing in again \(difference).")
                target = less
            }
        }
    }

    /// Returns the target without what an error refuses, and how it differs; nil if this program has not added that.
    private func takingBack(whatRefuses error: AuthError) async -> (SignInTarget, difference: String)? {
        let (isOfScope, isOfPrompt) = (error.isOfScope && !isScopeNamed, error.isOfPrompt && !isPromptNamed)
        guard isOfScope || isOfPrompt, let provider = try? await configuration.client(requiring: []).provider else {
            return nil
        }
        let scope = configuration.scope(at: provider) { _ in }
        if isOfScope, let fewer = fewerScopes(than: scope) {
            let shown = (fewer.spaceDelimited ?? "").foundText
            return (
                requesting(fewer, isReduced: configuration.scope == nil || isReduced),
                "with the scope \(shown). Another one can be named with --scope"
            )
        }
        guard isOfPrompt, scope.contains(.offlineAccess) else { return nil }
        return (
            withoutPrompt(),
            "without prompt=consent, which offline_access brings. Another one can be named with --prompt"
        )
    }

    /// Returns the scopes without `offline_access`, or else `openid` alone; nil if nothing can be left out.
    private func fewerScopes(than scope: [Scope]) -> [Scope]? {
        var fewer = scope.filter { $0 != .offlineAccess }
        if fewer == scope, configuration.scope == nil || isReduced { fewer = scope.filter { $0 == .openID } }
        return fewer.isEmpty || fewer == scope ? nil : fewer
    }

    /// The end of an error message if the options change how a registered client authenticates.
    private func change(of known: RegisteredClient) -> String? {
        guard let used = configuration.authentication?.method, used != known.client.authentication.method else {
            return nil
        }
        return ". The client is registered for \(known.client.authentication.method): leave out --client-auth"
    }

    /// Whether another registration may help.
    func isAboutRegistration(_ error: AuthError) -> Bool {
        if error.isAboutClient { return true }
        return switch error.code {
        case .listener: !isPortNamed
        default: error.stage == .authorization && error.httpStatus.map(Self.refusals.contains) == true
        }
    }

    /// RFC 6749 §4.1.2.1: a server must not redirect the browser for an unknown client or redirect URI.
    private static let refusals = [400, 401, 403, 422]

    /// Throws if the authorization page refuses a client that an earlier sign-in has registered by itself.
    ///
    /// The browser would show the user a page that this command never sees, and the sign-in would wait in vain. The
    /// request has values of its own, so that its response is worth nothing.
    func checkClient(of signIn: SignIn, _ console: Console) async throws {
        var configuration = configuration
        // Nothing is signed with the key of this request.
        configuration.dpopKeyProvider = nil
        guard let registered, registered.isOurs, !isNew, let uri = registered.redirectURI, !signIn.options.isPushed,
            let client = try? await configuration.client(requiring: [.authorization]),
            !client.provider.requiresPushedAuthorizationRequests, !client.provider.requiresSignedRequestObject,
            let request = try? AuthorizationRequest(
                client: client, redirectURI: uri, scope: configuration.scope ?? [], options: signIn.options),
            let url = try? SecureURL(request.url),
            let response = try? await console.environment.send(
                TransportRequest(HTTPRequest(method: .get, url: url)), stage: .authorization),
            Self.refusals.contains(response.status.code)
        else { return }
        throw AuthError(
            .invalidClient, .authorization, "the sign-in page refuses the client \(registered.client.id.shownName)",
            httpStatus: response.status.code)
    }
}

extension AuthError {
    /// Whether the provider has refused the scope. If the response lacks the `iss` that the provider promises (RFC 9207), its
    /// error is not verified; all that follows is a request for less.
    fileprivate var isOfScope: Bool {
        // Keycloak has the other code for offline tokens that the client or the user may not have.
        if ["invalid_scope", "not_allowed"].contains(code) { return true }
        if code == .invalidRedirect { return server?.error == "invalid_scope" }
        // Okta, if its policy allows only some of the scopes, or none of them.
        return code == .accessDenied && server?.errorDescription?.hasPrefix("Policy evaluation failed") == true
    }

    /// Whether a provider may have refused `prompt=consent` in the request: it has no page that asks, or lets only an
    /// administrator consent (Entra).
    fileprivate var isOfPrompt: Bool {
        guard let server, stage == .authorization || code == .invalidRedirect else { return false }
        return ["login_required", "consent_required", "interaction_required"].contains(server.error)
            || server.errorDescription?.contains("AADSTS90094") == true
    }
}

extension RegisteredClient {
    /// The end of an error message: how to replace a client that the user has registered.
    func replacement(_ console: Console) -> String {
        let metadata = client.registration?.metadata
        var words = ["register", "--issuer", client.provider.issuer.string]
        // Not one that only the server has named: it may have the scheme of another app.
        words += redirectURI.map { ["--redirect-uri", $0] } ?? []
        words += metadata?.scope?.spaceDelimited.map { ["--scope", $0] } ?? []
        words += metadata?.clientName.map { ["--client-name", $0] } ?? []
        let method = ClientOptions.Method.allCases.first { $0.registeredName == metadata?.tokenEndpointAuthMethod }
        if let method, method != .none { words += ["--client-auth", method.rawValue] }
        if case .privateKeyJWT(let path, _) = client.authentication { words += ["--client-key", path] }
        words += console.wordsOfNetwork
        words = ["register"] + SignInLine(words).options.flatMap(\.words)
        let line = SignInLine(words).shellLine
        let file = ". The client is the one in \(path). If the provider no longer accepts it, "
        guard path.quotedForShell != nil, words.allSatisfy({ $0.quotedForShell != nil }) else {
            return file + "register another one: \(line)"
        }
        // It has the only copy of the client's secret.
        return file + "replace it with: \(["mv", path, path + ".old"].shellLine) && \(line)"
    }
}

extension NewSessionOptions {
    /// Returns the session of a registered client, as it is before the first request.
    fileprivate func session(of client: RegisteredClient?) async throws -> AuthStateRecord? {
        guard profile == nil, store == nil, let client, client.isOurs else { return nil }
        return try? await Self.store(of: client).load()
    }

    /// Removes the session of a client that is no longer used. One that came later stays, and so does a profile's.
    fileprivate func removeSession(_ earlier: AuthStateRecord?, of former: RegisteredClient) async throws {
        guard let earlier, earlier.resources == former.resource.map({ [$0] }), Profile.with(earlier.profileID) == nil
        else { return }
        try await Self.store(of: former).update { if $0?.id == earlier.id { $0 = nil } }
    }

    private static func store(of client: RegisteredClient) throws -> any TokenStore {
        try StateFolder().store(client.sessionName)
    }
}
