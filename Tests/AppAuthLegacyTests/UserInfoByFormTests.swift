import AppAuthLegacy
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// RFC 6750 §2.2. That the response is checked as any other is seen where a whole session has an ID token.
struct UserInfoByFormTests {
    private func withSession(
        takesTokensInForms: Bool = true, dpop: DPoPAlgorithm? = nil,
        _ test: (LocalProvider, AuthState) async throws -> Void
    ) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.takesTokensInForms = takesTokensInForms
        try await withLocalProvider(configuration) { provider in
            let environment = Environment(transport: CurlTransport())
            let metadata = try await Discovery(environment: environment).metadata(for: Issuer(provider.issuer))
            let token = AccessToken(
                value: Secret(try provider.mintSession().accessToken), received: .current, lifetime: nil)
            let record = try AuthStateRecord(
                client: Client(id: "demo", provider: metadata, dpop: dpop), scope: [.openID], accessToken: token,
                refreshToken: nil)
            try await test(
                provider, try await AuthState(record: record, store: MemoryTokenStore(), environment: environment))
        }
    }

    @Test func `the token is in the form and nowhere else`() async throws {
        try await withSession { provider, state in
            let claims = try await state.userInfoByForm()
            #expect(claims.subject == "248289761001")
            let request = try #require(provider.log(.userInfo).first)
            #expect(request.form.names == ["access_token"] && request.query.names.isEmpty)
            #expect(request.headers[.authorization] == nil)
        }
    }

    @Test func `a server that does not want it there is asked once`() async throws {
        try await withSession(takesTokensInForms: false) { provider, state in
            let error = await authError { try await state.userInfoByForm() }
            #expect(error?.code == "invalid_request" && error?.stage == .userInfo)
            #expect(provider.count(.userInfo) == 1)
        }
    }

    @Test func `a token that is bound to a key goes into no form`() async throws {
        try await withSession(dpop: .es256) { provider, state in
            let error = await authError { try await state.userInfoByForm() }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
            #expect(provider.count(.userInfo) == 0)
        }
    }
}
