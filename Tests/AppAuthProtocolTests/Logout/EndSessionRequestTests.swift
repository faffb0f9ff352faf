import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect RP-Initiated Logout §2 and §3.
struct EndSessionRequestTests {
    @Test func `the URL names the client, the way back, a state and the ID token`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            let request = try EndSessionRequest(record: record, postLogoutRedirectURI: "http://127.0.0.1:9/a?b=c")
            let items = try items(request.url.reveal(), world.provider.url(.endSession) + "?")
            #expect(items.map(\.name) == ["client_id", "post_logout_redirect_uri", "state", "id_token_hint"])
            #expect(items.first?.value == "demo")
            #expect(items.dropFirst().first?.value == "http://127.0.0.1:9/a?b=c")
            #expect(Base64URL.decode(items[2].value)?.count == 32)
            #expect(items.last?.value == record.idToken?.rawValue.reveal())
            #expect(try self.items(request.urlWithoutHint, world.provider.url(.endSession) + "?") == items.dropLast())
            let other = try EndSessionRequest(record: record, postLogoutRedirectURI: "http://127.0.0.1:9/a?b=c")
            #expect(other.url != request.url)
        }
    }

    @Test func `the query of the endpoint stays, and a session without an ID token sends no hint`() throws {
        let record = try record("https://op.example/logout?tenant=1")
        let request = try EndSessionRequest(record: record, postLogoutRedirectURI: "http://127.0.0.1:9/")
        let items = try items(request.url.reveal(), "https://op.example/logout?tenant=1&")
        #expect(items.map(\.name) == ["client_id", "post_logout_redirect_uri", "state"])
        #expect(request.url.reveal() == request.urlWithoutHint)
    }

    @Test(arguments: [(2048, true), (2049, false)])
    func `an ID token that makes the URL too long is left out`(size: Int, isSent: Bool) async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            func request(_ padding: Int) throws -> EndSessionRequest {
                let path = String(repeating: "a", count: padding)
                return try EndSessionRequest(record: record, postLogoutRedirectURI: "http://127.0.0.1:9/" + path)
            }
            let padding = size - (try request(0).url.reveal().utf8.count)
            let padded = try request(padding)
            #expect(padding > 0 && padded.urlWithoutHint.utf8.count < 2048)
            #expect((padded.url.reveal() != padded.urlWithoutHint) == isSent)
        }
    }

    // oidcc-client-test-rp-init-logout, …-other-state, …-no-state
    @Test(arguments: [
        ("state=STATE", true), ("a=b&state=STATE", true), ("", false), ("state=", false), ("state=other", false),
        ("state=STATEx", false), ("state=STATE&state=STATE", false), ("state=STATE&a=1&a=2", false),
        ("state=%zz", false),
        ("State=STATE", false),
    ])
    func `only its state makes a redirect ours`(query: String, isOurs: Bool) throws {
        let request = try EndSessionRequest(
            record: record("https://op.example/logout"), postLogoutRedirectURI: "http://127.0.0.1:9/")
        let state = try #require(try items(request.urlWithoutHint, "https://op.example/logout?").last).value
        #expect(request.isResponse(query: query.replacing("STATE", with: state)) == isOurs)
    }

    @Test func `without an endpoint the error names it`() throws {
        let record = try record(nil)
        let error = try #require(refusal { try EndSessionRequest(record: record, postLogoutRedirectURI: "x") })
        #expect(error.code == .invalidMetadata)
        #expect(error.message.contains("end_session_endpoint"))
    }

    private func record(_ endpoint: String?) throws -> AuthStateRecord {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: endpoint.map { [.endSession: $0] } ?? [:])
        return try AuthStateRecord(
            client: Client(id: "demo", provider: provider), accessToken: nil, refreshToken: nil)
    }

    private func items(_ url: String, _ start: String) throws -> [FormParameters.Item] {
        try #require(url.hasPrefix(start))
        return try #require(FormParameters(decoding: url.dropFirst(start.count))).items
    }
}
