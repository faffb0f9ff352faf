import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 6750 §2.1 and §3.1: the token in the header, and one more try after `invalid_token`.
struct AuthenticatedRequestTests {
    private let expired = Fault.status(
        .unauthorized, [.wwwAuthenticate: #"Bearer realm="api", error="invalid_token""#])

    @Test func `a request is sent with the token, and the response is returned with any status`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            var exchange = try api(world)
            exchange.head.headerFields[.authorization] = "Basic left-over"
            let response = try await state.send(exchange)
            #expect(response.status == .ok)
            #expect(try JSON(parsing: response.body)["body"]?.string == "a=1&b=2")
            let sent = try #require(world.provider.log(.api).first)
            #expect(sent.headers[values: .authorization] == [try await state.freshAccessToken().authorization])
            world.provider.fault(.status(.notFound), at: .api)
            #expect(try await state.send(exchange).status == .notFound)
        }
    }

    @Test func `get and post send a token, and a JSON response decodes`() async throws {
        struct Echo: Decodable, Equatable {
            var method: String
            var body: String
        }
        try await World.run { world in
            let state = try await world.signIn()
            let url = world.provider.url(.api)
            #expect(try await state.get(url, as: Echo.self) == Echo(method: "GET", body: ""))
            let response = try await state.post(url, json: ["a": 1])
            #expect(try response.decoded(as: Echo.self) == Echo(method: "POST", body: #"{"a":1}"#))
            for sent in world.provider.log(.api) {
                #expect(sent.headers[.authorization] == (try await state.freshAccessToken().authorization))
            }
            #expect(world.provider.log(.api).last?.headers[.contentType] == "application/json")
        }
    }

    @Test func `a request has a method, JSON or a form with its type, and accepts JSON`() throws {
        var form = FormParameters()
        form.append("a b", "c&d")
        for (content, type, body) in [
            (.json(["a": 1]), "application/json", #"{"a":1}"#), (try .json(encoding: [1]), "application/json", "[1]"),
            (.form(form), "application/x-www-form-urlencoded", "a+b=c%26d"), (nil, nil, nil),
        ] as [(TransportRequest.Content?, String?, String?)] {
            let request = try TransportRequest(.put, "https://api.example/v1/me?x=y", content)
            #expect(request.head.method == .put && request.head.authority == "api.example")
            #expect(request.head.path == "/v1/me?x=y")
            #expect(request.head.headerFields[.accept] == "application/json")
            #expect(request.head.headerFields[.contentType] == type)
            #expect(request.body == body.map { Array($0.utf8) })
        }
        let error = #expect(throws: AuthError.self) { try TransportRequest(.get, "http://api.example/v1/me") }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test func `an error status, and a body of another shape, do not decode`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let url = world.provider.url(.api)
            let shape = await authError { try await state.get(url, as: [Int].self) }
            #expect(shape?.code == .invalidResponse && shape?.response?.status == .ok)
            #expect(
                shape?.message.hasSuffix("found a document that is no Array<Any>") == true,
                "\(String(describing: shape))")
            world.provider.fault(.status(.notFound, json: [:]), at: .api)
            let status = await authError { try await state.get(url, as: [String: Int].self) }
            #expect(status?.code == .invalidResponse && status?.response?.status == .notFound)
        }
    }

    @Test func `after a 401 that says invalid_token it is sent once more, with a new token and its body`() async throws
    {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(expired, at: .api)
            let response = try await state.send(api(world))
            #expect(response.status == .ok)
            let sent = world.provider.log(.api)
            #expect(sent.count == 2)
            #expect(sent.first?.body == sent.last?.body)
            #expect(sent.first?.body == Array("a=1&b=2".utf8))
            #expect(sent.first?.headers[.authorization] != sent.last?.headers[.authorization])
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a second 401 is the response`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(expired, at: .api, times: nil)
            #expect(try await state.send(api(world)).status == .unauthorized)
            #expect(world.provider.count(.api) == 2)
            #expect(world.provider.count(.token) == 2)
            // Each new token is rejected as well: three refreshes a minute, and not one for each request.
            for seconds in [0.0, 30, 29] {
                world.clock.advance(by: seconds)
                #expect(try await state.send(api(world)).status == .unauthorized)
            }
            #expect(world.provider.count(.api) == 7 && world.provider.count(.token) == 4)
            world.clock.advance(by: 1)
            #expect(try await state.send(api(world)).status == .unauthorized)
            #expect(world.provider.count(.api) == 9 && world.provider.count(.token) == 5)
            world.provider.clearFaults()
            #expect(try await state.send(api(world)).status == .ok)
        }
    }

    @Test(arguments: [
        Fault.status(.unauthorized), .status(.unauthorized, [.wwwAuthenticate: "Bearer"]),
        .status(.unauthorized, [.wwwAuthenticate: #"Bearer error="insufficient_scope""#]),
        .status(.unauthorized, [.wwwAuthenticate: #"Basic error="invalid_token""#]),
        .status(.forbidden, [.wwwAuthenticate: #"Bearer error="invalid_token""#]),
        .status(.unauthorized, json: ["error": "invalid_token"]), .status(.internalServerError),
        .redirect(to: "https://evil.example/"),
    ])
    func `any other response is returned unchanged, and nothing is sent again`(fault: Fault) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(fault, at: .api)
            #expect(try await state.send(api(world)).status != .ok)
            #expect(world.provider.count(.api) == 1)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `a redirect is not followed, so that the token goes nowhere else`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.redirect(to: world.provider.url(.userInfo)), at: .api)
            #expect(try await state.send(api(world)).status == .temporaryRedirect)
            #expect(world.provider.count(.userInfo) == 0)
        }
    }

    @Test func `without a refresh token the 401 is the response`() async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.openID])
            world.provider.fault(expired, at: .api)
            #expect(try await state.send(api(world)).status == .unauthorized)
            #expect(world.provider.count(.api) == 1)
        }
    }

    @Test func `requests that get a 401 at the same time share one refresh`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(expired, at: .api, times: 20)
            let hold = world.provider.hold(.api)
            let exchange = try api(world)
            let callers = (0..<20).map { _ in Task { try await state.send(exchange).status } }
            try await hold.arrived(20)
            hold.release()
            for caller in callers { #expect(try await caller.value == .ok) }
            #expect(world.provider.count(.api) == 40)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `send with a given token rejects a disallowed URL too`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try await state.freshAccessToken()
            let exchange = TransportRequest(
                HTTPRequest(method: .get, scheme: "http", authority: "api.example", path: "/"))
            let error = await authError { try await state.send(exchange, with: token) }
            #expect(error?.code == .invalidConfiguration)
            #expect(error?.outcome == .notSent)
        }
    }

    @Test func `a rejected token is not returned again, although it has not expired`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try await state.freshAccessToken()
            world.provider.fault(
                .status(.unauthorized, [.wwwAuthenticate: "Bearer error=\"invalid_token\""]), at: .api)
            world.provider.fault(.status(.internalServerError), at: .token)
            #expect(await authError { try await state.send(api(world)) }?.httpStatus == 500)
            #expect(try await state.freshAccessToken().value != token.value)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `a token that another caller has renewed is replaced, however often`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let old = try await state.freshAccessToken()
            for _ in 1...4 {
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await state.mayReplace(old, of: "api.example"))
            }
            #expect(world.provider.count(.token) == 5)
        }
    }

    @Test func `a token that has expired is refreshed before the first try`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 3600)
            #expect(try await state.send(api(world)).status == .ok)
            #expect(world.provider.count(.api) == 1)
        }
    }

    @Test(arguments: [
        ("http", "op.example", "/"), ("ftp", "127.0.0.1:1", "/"), ("https", "user:pass@op.example", "/"),
        ("https", "op.example", ".evil.example/"), ("https", "op.example", "@evil.example/"),
        ("https", "op.example", "a?token=hunter2"), ("https", "", "/"), ("https", "op.example/a", "/"),
        ("https", "op.example", "/a b"), ("https", "op.example", "/#a"),
    ])
    func `a disallowed URL is rejected before a token is requested`(
        scheme: String, authority: String, path: String
    ) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 3600)
            let requests = world.provider.log.count
            let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
            let error = try #require(await authError { try await state.send(TransportRequest(request)) })
            #expect(error.code == .invalidConfiguration)
            #expect(error.outcome == .notSent)
            #expect(!error.message.contains("pass") && !error.message.contains("hunter2"))
            #expect(world.provider.log.count == requests)
        }
    }

    private func api(_ world: World) throws -> TransportRequest {
        var request = HTTPRequest(method: .post, url: try SecureURL(world.provider.url(.api)))
        request.headerFields[.contentType] = "text/plain"
        return TransportRequest(request, body: Array("a=1&b=2".utf8))
    }
}
