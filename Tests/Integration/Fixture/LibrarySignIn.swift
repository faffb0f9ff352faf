import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import Testing

/// Sign-ins with the library itself, where ``SignIn`` goes through the program.
extension Provider {
    /// Signs Alice in at a browser of her own.
    ///
    /// - Returns: The session, and the query of the authorization URL.
    func signsIn(
        as client: String, over wire: Wire = Wire(), _ adapt: (inout AppAuth.SignIn) throws -> Void = { _ in }
    ) async throws -> (state: AuthState, query: [URLQueryItem]) {
        var signIn = try AppAuth.SignIn(
            issuer: Issuer(profile.issuer), clientID: client, scope: [.openID, .profile, .offlineAccess],
            appName: "Real App",
            environment: wire.environment)
        signIn.redirect.ports = profile.redirectPorts.compactMap { UInt16(exactly: $0) }
        try adapt(&signIn)
        return try await Browser.opened(at: profile.issuer, user: profile.user, password: profile.password) {
            [signIn] browser in
            let (urls, opened) = AsyncStream.makeStream(of: String.self)
            let (authorizations, announced) = AsyncStream.makeStream(of: String.self)
            async let state = {
                defer { opened.finish() }
                var signIn = signIn
                let observe = signIn.observe
                signIn.observe = { event in
                    if case .authorization(let url) = event { announced.yield(url) }
                    observe(event)
                }
                signIn.browser = AppAuth.Browser { opened.yield($0) }
                return try await signIn.run(store: MemoryTokenStore())
            }()
            var query: [URLQueryItem] = []
            for await url in urls {
                for await authorization in authorizations {
                    query = URLComponents(string: authorization)?.queryItems ?? []
                    break
                }
                try await browser.visit(url)
            }
            return try await (state, query)
        }
    }

    /// The redirect URIs that both clients have registered.
    var redirectURIs: [String] { profile.redirectPorts.map { "http://127.0.0.1:\($0)/callback" } }

    /// Its metadata, with an endpoint that may is only in the RFC 8414 document.
    func metadata(with endpoint: ProviderMetadata.Endpoint) async throws -> ProviderMetadata {
        let discovery = Discovery(environment: .live)
        return try await discovery.complete(discovery.metadata(for: Issuer(profile.issuer)), with: endpoint)
    }

    /// Registers a client.
    func registers(_ metadata: ClientMetadata) async throws -> ClientRegistration {
        try await ClientRegistrationRequest(provider: self.metadata(with: .registration), metadata: metadata)
            .send(in: .live)
    }
}

extension Provider {
    /// The status of the userinfo endpoint's response to a token that is presented by this scheme.
    func userInfoStatus(of token: AccessToken, as scheme: String) async throws -> Int {
        let url = try #require(try await metadata(with: .userInfo)[.userInfo])
        var request = HTTPRequest(method: .get, scheme: url.scheme, authority: url.authority, path: url.path)
        request.headerFields[.authorization] = "\(scheme) \(token.value.reveal())"
        return try await Environment.live.transport.send(TransportRequest(request)).status.code
    }
}

extension AuthState {
    /// Reads the user's claims at the provider, which takes a valid access token.
    func isAlice(_ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await userInfo()["name"]?.string == "Alice Liddell", sourceLocation: location)
    }
}

/// The error that the library threw; nil if it threw none.
func failure(_ body: () async throws -> Void) async -> AuthError? {
    do {
        try await body()
        return nil
    } catch { return error as? AuthError }
}
