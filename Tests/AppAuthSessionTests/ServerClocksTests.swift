import AppAuthProtocol
import Foundation
import HTTPTypes
import AppAuthTestProvider
import Testing

/// The choice among the clocks of all servers that have responded.
struct ServerClocksTests {
    private let clocks = ServerClocks()
    private let date = Date(timeIntervalSince1970: 1_750_000_000)

    private func client(_ authentication: ClientAuthentication = .none) throws -> Client {
        let provider = try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [.token: "https://token.example/token", .keys: "https://keys.example/jwks"],
            more: ["mtls_endpoint_aliases": ["token_endpoint": "https://mtls.example/token"]])
        return Client(id: "c", authentication: authentication, provider: provider)
    }

    private func timestamp(_ seconds: Int) -> Timestamp {
        Timestamp(wall: date + Double(seconds), sinceBoot: .seconds(seconds), boot: "b")
    }

    /// A response by a clock that is so far ahead.
    private func note(_ host: String, _ ahead: Double, at seconds: Int = 0, age: String? = nil) {
        var fields: HTTPFields = [.date: (date + Double(seconds) + ahead).httpDate]
        fields[.age] = age
        let request = HTTPRequest(method: .get, scheme: "https", authority: host, path: "/")
        clocks.note(
            TransportResponse(HTTPResponse(status: .ok, headerFields: fields), body: []), to: request,
            at: timestamp(seconds))
    }

    private func skew(_ client: Client, at seconds: Int = 1) -> Double? {
        clocks.clock(of: client, at: timestamp(seconds))?.skew
    }

    @Test func `the token endpoint's comes first, the keys' last`() throws {
        let client = try client()
        #expect(skew(client) == nil)
        note("keys.example", 3)
        note("other.example", 9)
        #expect(skew(client) == 3)
        note("op.example", 2)
        #expect(skew(client) == 2)
        note("token.example", 1)
        #expect(skew(client) == 1)
        note("token.example", 5, at: 1)
        #expect(skew(client) == 5)
    }

    @Test func `a client with a certificate uses its provider's mTLS endpoints`() throws {
        note("token.example", 1)
        #expect(try skew(client(.tlsClientAuth)) == nil)
        note("mtls.example", 2)
        #expect(try skew(client(.tlsClientAuth)) == 2)
        #expect(try skew(client()) == 1)
    }

    /// RFC 9111 §5.1: the Date of a cached response is the time of its origin, not of its use.
    @Test(arguments: [(nil, true), ("0", true), ("1", false), ("3600", false), ("", false)] as [(String?, Bool)])
    func `a cached response sets no clock`(age: String?, setsClock: Bool) throws {
        note("token.example", 1, age: age)
        #expect(try (skew(client()) != nil) == setsClock)
    }

    @Test(arguments: [(86_400, 1), (86_401, 3)] as [(Int, Double)])
    func `after a day a clock is not known any more`(seconds: Int, expected: Double) throws {
        note("token.example", 1)
        note("keys.example", 3, at: seconds)
        #expect(try skew(client(), at: seconds) == expected)
    }

    @Test func `of many servers the latest are remembered`() throws {
        note("keys.example", 3)
        note("token.example", 1, at: 1)
        for number in 2..<64 { note("\(number).example", 9, at: number) }
        #expect(try skew(client(), at: 64) == 1)
        note("64.example", 9, at: 64)
        #expect(try skew(client(), at: 64) == 1)
        note("token.example", 2, at: 64)
        #expect(try skew(client(), at: 64) == 2)
        for number in 65..<130 { note("\(number).example", 9, at: number) }
        #expect(try skew(client(), at: 130) == nil)
    }
}
