import AppAuthConcurrency
import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Discovery §2, RFC 7033.
struct WebFingerTests {
    /// Responds to everything with a document, and keeps the last request.
    private struct Host: HTTPTransport {
        var document: JSON = [
            "subject": "acct:joe@example.com", "aliases": ["x"], "new": [:],
            "links": [
                ["rel": "http://webfinger.net/rel/avatar", "href": "https://example.com/joe.png"],
                ["rel": "http://openid.net/specs/connect/1.0/issuer", "href": "https://op.example.com/t"],
            ],
        ]
        let asked = LockedValue("")

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            let request = exchange.head
            asked.withLock { $0 = "\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")" }
            return TransportResponse(HTTPResponse(status: .ok), body: Array(document.serialized().utf8))
        }
    }

    @Test(arguments: [
        ("joe@example.com", "https://example.com", "acct%3Ajoe%40example.com"),
        ("acct:joe@example.com", "https://example.com", "acct%3Ajoe%40example.com"),
        ("acct:joe%40home@example.com", "https://example.com", "acct%3Ajoe%2540home%40example.com"),
        ("acct:joe@127.0.0.1:8080", "http://127.0.0.1:8080", "acct%3Ajoe%40127.0.0.1%3A8080"),
        ("https://example.com/joe", "https://example.com", "https%3A%2F%2Fexample.com%2Fjoe"),
        ("https://example.com/joe#me", "https://example.com", "https%3A%2F%2Fexample.com%2Fjoe"),
        ("example.com:8080/joe", "https://example.com:8080", "https%3A%2F%2Fexample.com%3A8080%2Fjoe"),
        ("example.com", "https://example.com", "https%3A%2F%2Fexample.com"),
        ("http://localhost:80/joe", "http://localhost:80", "http%3A%2F%2Flocalhost%3A80%2Fjoe"),
    ])
    func `a user's identifier names a host, and the host names the issuer`(
        identifier: String, host: String, resource: String
    ) async throws {
        let web = Host()
        let issuer = try await Discovery(environment: Environment(transport: web)).issuer(of: identifier)
        #expect(issuer.string == "https://op.example.com/t")
        let question = "resource=\(resource)&rel=http%3A%2F%2Fopenid.net%2Fspecs%2Fconnect%2F1.0%2Fissuer"
        #expect(web.asked.withLock { $0 } == "\(host)/.well-known/webfinger?\(question)")
    }

    @Test(arguments: [
        "", "=joe", "@joe", "!joe", "acct:joe", "acct:@example.com", "joe@", "http://example.com/joe",
        "mailto:joe@example.com", "joe@example.com:80", "https://joe@example.com/", "joe@exa mple.com",
    ])
    func `an identifier without a host is refused, and nothing is sent`(identifier: String) async {
        let web = Host()
        let error = await authError {
            try await Discovery(environment: Environment(transport: web)).issuer(of: identifier)
        }
        #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
        #expect(web.asked.withLock { $0 } == "")
    }

    @Test(
        arguments: [
            nil, "http://op.example.com", "https://op.example.com/?a=b", "joe", 1,
        ] as [JSON?])
    func `a host that names no issuer, or none that can be one, is refused`(href: JSON?) async {
        var link: JSON.Object = ["rel": "http://openid.net/specs/connect/1.0/issuer"]
        link["href"] = href
        let web = Host(document: ["links": [.object(link)]])
        let error = await authError {
            try await Discovery(environment: Environment(transport: web)).issuer(of: "joe@example.com")
        }
        #expect(error?.code == .invalidResponse && error?.stage == .discovery)
        #expect(error?.message.contains("example.com") == true && error?.message.contains("expected") == true)
    }

    @Test(arguments: [("joe@example.com", false), ("acct:joe@127.0.0.1:8080", true)])
    func `only a host on this machine may name an issuer on it`(identifier: String, isTaken: Bool) async {
        let href = "http://127.0.0.1:9999"
        let web = Host(
            document: [
                "links": [["rel": "http://openid.net/specs/connect/1.0/issuer", "href": .string(href)]]
            ])
        let error = await authError {
            try await Discovery(environment: Environment(transport: web)).issuer(of: identifier)
        }
        #expect((error == nil) == isTaken)
        #expect(isTaken || error?.code == .invalidResponse && error?.message.contains("'href': \(href)") == true)
    }

    @Test func `a link of another kind is not followed`() async {
        let web = Host(document: ["links": [["rel": "issuer", "href": "https://op.example.com"]]])
        let error = await authError {
            try await Discovery(environment: Environment(transport: web)).issuer(of: "joe@example.com")
        }
        #expect(error?.message.contains("expected a link to an issuer, found none") == true)
    }
}
