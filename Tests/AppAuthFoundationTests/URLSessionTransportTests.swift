import AppAuthFoundation
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import FoundationNetworking
import HTTPTypes
import JOSE
import Testing

/// `URLSession` as the library's HTTP client.
@Suite(.timeLimit(.minutes(5)))
struct URLSessionTransportTests {
    private func request(
        _ url: String, _ method: HTTPRequest.Method = .get, body: String? = nil, limits: HTTPLimits = .default
    ) throws -> TransportRequest {
        let url = try SecureURL(url)
        let head = HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        return TransportRequest(head, body: body.map { Array($0.utf8) }, limits: limits)
    }

    @Test func `a session begins, calls an API and renews itself through it`() async throws {
        try await withLocalProvider { provider in
            let environment = Environment(transport: URLSessionTransport())
            let client = Client(
                id: "demo-service", authentication: .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")),
                provider: try ProviderMetadata(tokenEndpoint: provider.url(.token)))
            let state = try await AuthState.present(
                .clientCredentials(scope: ["api"]), as: client, store: MemoryTokenStore(), environment: environment)
            let response = try await state.send(request(provider.url(.api) + "?q=a%20b", .post, body: "x=1"))
            let json = try JSON(parsing: response.body)
            #expect(json["body"]?.string == "x=1" && json["query"]?["q"]?.string == "a b")
            #expect(json["method"]?.string == "POST")
            #expect(response.headerFields[.contentType] == "application/json")
            let dead = LocalProvider.Fault.status(.unauthorized, [.wwwAuthenticate: #"Bearer error="invalid_token""#])
            provider.fault(dead, at: .api)
            #expect(try await state.get(provider.url(.api)).status == .ok)
            #expect(provider.count(.token) == 2 && provider.count(.api) == 3)
        }
    }

    @Test func `an error with a challenge that URLSession knows is a response`() async throws {
        try await withLocalProvider { provider in
            let client = Client(
                id: "demo-service", authentication: .clientSecretBasic(Secret("wrong")),
                provider: try ProviderMetadata(tokenEndpoint: provider.url(.token)))
            let error = await #expect(throws: AuthError.self) {
                try await AuthState.present(
                    .clientCredentials(), as: client, store: MemoryTokenStore(),
                    environment: Environment(transport: URLSessionTransport()))
            }
            #expect(error?.code == .invalidClient && error?.httpStatus == 401)
        }
    }

    @Test func `no redirect is followed, and no cookie is kept`() async throws {
        try await withLocalProvider { provider in
            let (transport, url) = (URLSessionTransport(), provider.url(.openIDConfiguration))
            provider.fault(.redirect(to: provider.url(.keys)), at: .openIDConfiguration)
            provider.fault(.status(.ok, [.setCookie: "a=b; Path=/"]), at: .openIDConfiguration)
            #expect(try await transport.send(request(url)).status.code == 307)
            _ = try await transport.send(request(url))
            _ = try await transport.send(request(url))
            #expect(provider.log.map(\.endpoint) == Array(repeating: .openIDConfiguration, count: 3))
            #expect(provider.log.last?.headers[.cookie] == nil)
        }
    }

    @Test func `a body that is too large, one that takes too long, and a header that is too large are errors`()
        async throws
    {
        try await withLocalProvider { provider in
            let (transport, url) = (URLSessionTransport(), provider.url(.openIDConfiguration))
            var limits = HTTPLimits.default
            limits.bodyBytes = 20_000
            provider.fault(.oversize(bytes: 20_000), at: .openIDConfiguration)
            provider.fault(.oversize(bytes: 20_001), at: .openIDConfiguration)
            #expect(try await transport.send(request(url, limits: limits)).body.count == 20_000)
            var error = await #expect(throws: AuthError.self) { try await transport.send(request(url, limits: limits)) }
            #expect(error?.code == .invalidResponse && error?.message.contains("20000 bytes") == true)

            limits.total = .milliseconds(300)
            provider.fault(.drip(every: .milliseconds(100)), at: .openIDConfiguration)
            error = await #expect(throws: AuthError.self) { try await transport.send(request(url, limits: limits)) }
            #expect(error?.code == .timeout && error?.outcome == .perhapsProcessed)

            limits = .default
            limits.headerBytes = 2_000
            for (count, code) in [(1_000, nil), (3_000, AuthError.Code.invalidResponse)] {
                let padding = String(repeating: "x", count: count)
                provider.fault(.status(.ok, [.userAgent: padding]), at: .openIDConfiguration)
                let result: AuthError.Code?
                do {
                    _ = try await transport.send(request(url, limits: limits))
                    result = nil
                } catch let error as AuthError { result = error.code }
                #expect(result == code)
            }
        }
    }

    @Test func `a POST is sent once, even if a kept connection breaks`() async throws {
        try await withLocalProvider { provider in
            let transport = URLSessionTransport()
            _ = try await transport.send(request(provider.url(.openIDConfiguration)))
            provider.fault(.reset(), at: .token)
            let error = await #expect(throws: AuthError.self) {
                try await transport.send(request(provider.url(.token), .post, body: "grant_type=refresh_token"))
            }
            #expect(error?.code == .transport && error?.outcome == .perhapsProcessed)
            #expect(provider.count(.token) == 1)
        }
    }

    @Test func `a URL that URLSession cannot use is refused before it is sent`() async throws {
        let transport = URLSessionTransport()
        let error = await #expect(throws: AuthError.self) { try await transport.send(request("http://[::1]:9/")) }
        #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
        #expect(error?.message.contains("CurlTransport") == true)
        for (scheme, authority, path) in [
            ("ftp", "127.0.0.1", "/"), ("http", "a@127.0.0.1", "/"), ("http", "127.0.0.1", "9/"),
            ("http", "127.0.0.1", "/#a"), ("http", "127.0.0.1", "/a b"),
        ] {
            let head = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
            let error = await #expect(throws: AuthError.self) { try await transport.send(TransportRequest(head)) }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
        }
    }

    @Test func `a caller that is cancelled gets away, and a server that is gone has not been sent the request`()
        async throws
    {
        try await withLocalProvider { provider in
            let transport = URLSessionTransport()
            let hold = provider.hold(.token)
            let url = provider.url(.token)
            let task = Task { try await transport.send(request(url, .post, body: "a=b")) }
            try await provider.requests(1, at: .token)
            task.cancel()
            _ = await #expect(throws: CancellationError.self) { try await task.value }
            hold.release()
            await provider.stop()
            let error = await #expect(throws: AuthError.self) { try await transport.send(request(url)) }
            #expect(error?.code == .transport && error?.outcome == .notSent)
        }
    }

    @Test func `the app's configuration is used`() async throws {
        try await withLocalProvider { provider in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["X-App": "harbour"]
            let transport = URLSessionTransport(configuration: configuration)
            _ = try await transport.send(request(provider.url(.openIDConfiguration)))
            _ = try await transport.send(request(provider.url(.token), .post, body: "a=b"))
            let name = try #require(HTTPField.Name("X-App"))
            #expect(provider.log.map { $0.headers[name] } == ["harbour", "harbour"])
        }
    }
}
