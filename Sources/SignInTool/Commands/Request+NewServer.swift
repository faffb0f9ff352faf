internal import AppAuth

extension Request {
    /// Returns where to sign in, if a resource of the session has moved to another authorization server. Nothing of the
    /// session is of use there.
    func newServer(
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
            (profile.map { ["--profile", $0.name] } ?? [])
            + (session.store.map { ["--store", $0.argumentOfSignIn] } ?? [])
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
}
