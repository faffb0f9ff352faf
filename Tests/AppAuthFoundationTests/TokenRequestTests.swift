import AppAuthFoundation
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import FoundationNetworking
import HTTPTypes
import Testing

/// A token endpoint that an app knows as a `URLRequest`.
struct TokenRequestTests {
    private func present(
        _ request: URLRequest, _ authentication: ClientAuthentication,
        _ change: (inout Environment) -> Void = { _ in }
    ) async throws -> AuthState {
        var environment = Environment.live
        change(&environment)
        environment.dialect.addFields(of: request)
        let client = Client(
            id: "demo-service", authentication: authentication, provider: try ProviderMetadata(tokenRequest: request))
        return try await AuthState.present(
            .clientCredentials(), as: client, store: MemoryTokenStore(), environment: environment)
    }

    private let secret = Secret("service-secret-of-thirty-two-bytes")

    @Test func `URL and header fields are used; method, body, Content-Type and Authorization are forced`() async throws
    {
        try await withLocalProvider { provider in
            var request = URLRequest(url: try #require(URL(string: provider.url(.token))))
            request.httpMethod = "PUT"
            request.httpBody = Data("a=b".utf8)
            request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            request.setValue("Basic left-over", forHTTPHeaderField: "Authorization")
            request.setValue("harbour", forHTTPHeaderField: "X-App")
            let state = try await present(request, .clientSecretBasic(secret))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(provider.count(.token) == 2)
            for sent in provider.log(.token) {
                #expect(
                    sent.method == .post
                        && String(decoding: sent.body, as: UTF8.self) == "grant_type=client_credentials")
                #expect(sent.headers[values: .contentType] == ["application/x-www-form-urlencoded"])
                #expect(sent.headers[try #require(HTTPField.Name("X-App"))] == "harbour")
                #expect(sent.headers[.authorization]?.hasPrefix("Basic ZGVtby1zZXJ2aWNl") == true)
            }
        }
    }

    @Test func `an Authorization of the request goes along if the client has none, and the dialect has the last word`()
        async throws
    {
        try await withLocalProvider { provider in
            var request = URLRequest(url: try #require(URL(string: provider.url(.token))))
            request.setValue("Gateway 1", forHTTPHeaderField: "Authorization")
            request.setValue("harbour", forHTTPHeaderField: "X-App")
            _ = try? await present(request, .none)
            _ = try? await present(request, .none) { environment in
                environment.dialect.tokenRequest = { _, fields, _ in fields[.authorization] = "Own 2" }
            }
            #expect(provider.log(.token).map { $0.headers[.authorization] } == ["Gateway 1", "Own 2"])
            let name = try #require(HTTPField.Name("X-App"))
            #expect(provider.log(.token).map { $0.headers[name] } == ["harbour", "harbour"])
        }
    }

    @Test(arguments: ["http://accounts.example/token", "/token", "ftp://127.0.0.1/token"])
    func `a URL that must not get credentials is refused`(text: String) throws {
        let request = URLRequest(url: try #require(URL(string: text)))
        let error = #expect(throws: AuthError.self) { try ProviderMetadata(tokenRequest: request) }
        #expect(error?.code == .invalidConfiguration)
    }
}
