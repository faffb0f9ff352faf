internal import AppAuthLegacy
internal import VendorSample

/// The users of an oPRO server, for an app that keeps its tokens in a file.
struct Users {
    private let server: String
    private let client: Client
    private let store: any TokenStore
    private var environment = Environment.live

    init(at location: Server.Location) throws {
        (server, store) = (location.url, location.store)
        client = try location.client(tokenPath: "/oauth/token.json")
        environment.dialect = .oPRO
    }

    /// The stored session. Each action reads the tokens from the file.
    private var session: StoredSession { StoredSession(in: store, environment: environment) }

    func perform(
        _ action: OProSample.Action, _ name: String?, _ password: Secret?, _ changes: TransportRequest.Content,
        refreshesTest: Bool
    ) async throws {
        switch action {
        case .signIn: try await signIn(name, password)
        case .randomUser: try await signInAsNewUser()
        case .show: tell(describe(try await call(.get, "/users/me.json")))
        case .update: tell("Changed: \(describe(try await call(.put, "/users/me.json", changes)))")
        case .delete:
            _ = try await call(.delete, "/users/me.json")
            // The tokens were deleted with the user.
            try await signOut()
            tell("Deleted the user.")
        case .refresh:
            _ = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
            tell("Refreshed: the session has a new token.")
        case .test:
            // The server describes the token of the request.
            let path = "/oauth_tests/show_me_the_money.json"
            let result = refreshesTest ? try await call(.get, path) : try await callWithStoredToken(path)
            tell("Test: \(result["message"]?.string ?? "?")")
        case .signOut:
            tell(try await signOut() ? "Signed out." : "No user was signed in.")
        }
    }

    /// Signs in, unless an earlier run has done so.
    private func signIn(_ name: String?, _ password: Secret?) async throws {
        if let record = try await store.load(), record.end == nil {
            return tell("Still signed in: the tokens are in \(store.location).")
        }
        guard let name, let password else {
            throw AuthError(.signInRequired, .token, "expected --username and --password-file: no user is signed in")
        }
        try await present(name, password)
    }

    /// Returns whether a user was signed in.
    @discardableResult
    private func signOut() async throws -> Bool {
        let state = try await AuthState(restoring: store, environment: environment)
        _ = try await state?.signOut()
        return state != nil
    }

    private func signInAsNewUser() async throws {
        let user = try json(
            await environment.transport.send(TransportRequest(.post, server + "/users/random.json")))
        guard let name = user["username"]?.string, let password = user["password"]?.string else {
            throw AuthError(.invalidResponse, .resource, "expected a username and a password from \(server)")
        }
        tell("Created a new user: \(name).")
        try await present(name, Secret(password))
    }

    private func present(_ name: String, _ password: Secret) async throws {
        // Equals .password(username:password:) without its warning: RFC 9700 §2.4 forbids this grant to new apps.
        let grant = try TokenGrant(
            GrantType(rawValue: "password"), parameters: ["username": Secret(name), "password": password])
        _ = try await AuthState.present(grant, as: client, store: store, environment: environment)
        tell("Signed in as \(name).")
    }

    private func call(
        _ method: HTTPRequest.Method, _ path: String, _ content: TransportRequest.Content? = nil
    ) async throws -> JSON {
        let request = try TransportRequest(method, server + path, content)
        return try json(await session.use { try await $0.send(request) })
    }

    /// Sends the stored token as it is, or none: a refresh would hide what is wrong with it.
    private func callWithStoredToken(_ path: String) async throws -> JSON {
        var request = try TransportRequest(.get, server + path)
        if let token = try await store.load()?.storedAccessToken {
            environment.dialect.authorize(token, &request.head.headerFields)
        }
        let response = try await environment.transport.send(request)
        // 401 has the server's sentence, too.
        return try response.status == .unauthorized ? JSON(parsing: response.body) : json(response)
    }

    private func json(_ response: TransportResponse) throws -> JSON {
        let (status, json) = (response.status, try? JSON(parsing: response.body))
        if status == .noContent { return .null }
        if status == .ok, let json { return json }
        // The server's errors: a string, or a list of strings.
        let errors = json?["errors"]?.strings?.joined(separator: ", ") ?? json?["errors"]?.string
        let why = errors ?? json?["message"]?.string ?? "expected JSON with status 200"
        throw AuthError(.invalidResponse, .resource, "\(server) responded with status \(status.code): \(why)")
    }

    private func describe(_ user: JSON) -> String {
        ["username", "email", "twitter", "zip"].map { "\($0) \(user[$0]?.string ?? "-")" }.joined(separator: ", ")
    }
}
