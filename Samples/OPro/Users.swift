internal import AppAuthLegacy
internal import HTTPTypes
internal import SampleSupport

/// Who signs in.
struct Person {
    let name: String
    let password: Secret
}

/// The users of an oPRO server, for an app that keeps its tokens in a file.
struct Users {
    let server: String
    private let client: Client
    private let person: Person?
    private let store: FileTokenStore
    private let environment: Environment

    init(server: String, clientID: String, secret: Secret, person: Person?, store: FileTokenStore) throws {
        (self.server, self.person, self.store) = (server, person, store)
        client = Client(
            id: clientID, authentication: .clientSecretPost(secret),
            provider: try ProviderMetadata(tokenEndpoint: server + "/oauth/token.json"))
        var environment = Environment.live
        environment.dialect = .oPRO
        self.environment = environment
    }

    /// Signs in, unless an earlier start has.
    func signIn() async throws {
        if let state = try await AuthState(restoring: store, environment: environment), await state.record.end == nil {
            return tell("Still signed in: the tokens are in \(store.place).")
        }
        guard let person else {
            throw AuthError(
                .signInRequired, .token, "expected --username and --password-file: nobody is signed in",
                outcome: .notSent)
        }
        try await signIn(person)
    }

    private func signIn(_ person: Person) async throws {
        // What .password(username:password:) makes, without its warning: RFC 9700 §2.4 forbids this grant to new apps.
        let grant = try TokenGrant(
            GrantType(rawValue: "password"), parameters: ["username": Secret(person.name), "password": person.password])
        _ = try await AuthState(presenting: grant, as: client, store: store, environment: environment)
        tell("Signed in as \(person.name).")
    }

    /// Makes a user, and signs in as that one.
    func signInAsSomebodyNew() async throws {
        let answer = try await environment.transport.send(exchange(.post, "/users/random.json"))
        let user = try json(answer)
        guard let name = user["username"]?.string, let password = user["password"]?.string else {
            throw failure(answer)
        }
        tell("There is somebody new: \(name).")
        try await signIn(Person(name: name, password: Secret(password)))
    }

    func show() async throws { tell(try await user(.get)) }

    /// Changes the user by PUT or POST.
    func change(_ method: HTTPRequest.Method, _ changes: [(String, JSON)]) async throws {
        var user = JSON.Object()
        for (name, value) in changes { user[name] = value }
        tell("Changed by \(method): \(try await self.user(method, ["user": .object(user)]))")
    }

    /// Deletes the user, and forgets the tokens, which have ended with it.
    func delete() async throws {
        let answer = try await call(.delete, "/users/me.json")
        guard answer.response.status.kind == .successful else { throw failure(answer) }
        try await session.use { try await $0.forget() }
        tell("Deleted the user.")
    }

    func refresh() async throws {
        _ = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
        tell("Refreshed: there is a new token.")
    }

    /// Asks oPRO what it thinks of a request's token.
    func test() async throws {
        let answer = try await json(call(.get, "/oauth_tests/show_me_the_money"))
        tell("Test: \(answer["message"]?.string ?? "?")")
    }

    func signOut() async throws {
        try await session.use { try await $0.forget() }
        tell("Signed out.")
    }

    // MARK: Requests

    /// The tokens stay in their file, and are read from there for each action.
    private var session: StoredSession { StoredSession(in: store, environment: environment) }

    private func call(_ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil) async throws -> HTTPAnswer {
        let exchange = try exchange(method, path, body)
        return try await session.use { try await $0.send(exchange) }
    }

    private func user(_ method: HTTPRequest.Method, _ body: JSON? = nil) async throws -> String {
        let user = try await json(call(method, "/users/me.json", body))
        return ["username", "email", "twitter", "zip"].map { "\($0) \(user[$0]?.string ?? "-")" }.joined(
            separator: ", ")
    }

    private func exchange(_ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil) throws -> HTTPExchange {
        let url = try SecureURL(server + path)
        var request = HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        if body != nil { request.headerFields[.contentType] = "application/json" }
        return HTTPExchange(request, body: body.map { Array($0.serialized().utf8) })
    }

    private func json(_ answer: HTTPAnswer) throws -> JSON {
        guard answer.response.status == .ok, let json = try? JSON(parsing: answer.body) else { throw failure(answer) }
        return json
    }

    /// What the server says: a text, or a list of them.
    private func failure(_ answer: HTTPAnswer) -> AuthError {
        let json = try? JSON(parsing: answer.body)
        let errors = json?["errors"]
        let why =
            errors?.string ?? errors?.strings?.joined(separator: ", ") ?? json?["message"]?.string
            ?? "expected JSON with status 200"
        return AuthError(
            .invalidResponse, .resource, "\(server) answered with status \(answer.response.status.code): \(why)")
    }
}
