import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing

extension Integration {
    /// Registration and revocation at django-oauth-toolkit, with the library itself. Both endpoints are only in the RFC
    /// 8414 document.
    @Suite(.serialized, .provider("django_oauth_toolkit.py")) struct DjangoOAuthToolkitProtocol {
        /// RFC 7591, RFC 7009.
        @Test func `a public client registers itself, signs in, and revokes its tokens`() async throws {
            let provider = try Provider.here()
            let registration = try await provider.registers(
                ClientMetadata(nativeAppWith: provider.redirectURIs, name: "Real App"))
            #expect(registration.clientSecret == nil && registration.metadata.tokenEndpointAuthMethod == "none")

            let (state, query) = try await provider.signsIn(as: registration.clientID) {
                $0.registration = registration
            }
            #expect(query.contains { $0.name == "client_id" && $0.value == registration.clientID })
            try await state.isAlice()
            #expect(await state.record.client.registration == registration)

            let token = try await state.freshAccessToken()
            #expect(await state.revokeTokens().map(\.error) == [nil, nil])
            #expect(try await provider.userInfoStatus(of: token, as: "Bearer") == 401)
            let refused = await failure { _ = try await state.freshAccessToken(forceRefresh: true) }
            #expect(refused?.code == .signInRequired, "\(refused as Any)")
        }

        /// RFC 7592: each change returns another registration access token.
        @Test func `a registered client is read, changed and deleted`() async throws {
            let provider = try Provider.here()
            let registration = try await provider.registers(
                ClientMetadata(nativeAppWith: provider.redirectURIs, name: "Real App"))
            let read = try await registration.read(in: .live)
            #expect(read.clientID == registration.clientID && read.metadata.clientName == "Real App")

            let changed = try await read.update(in: .live) { $0.clientName = "Another Name" }
            #expect(changed.metadata.clientName == "Another Name" && changed.accessToken != registration.accessToken)
            #expect(await failure { _ = try await registration.read(in: .live) }?.code == "invalid_token")

            try await changed.delete(in: .live)
            #expect(await failure { _ = try await changed.read(in: .live) }?.httpStatus == 401)
        }

        /// RFC 7591 §3.2.1 wants `client_secret_expires_at` beside a secret, and it sends none.
        @Test func `a client registers itself for a secret, and signs in with it`() async throws {
            let provider = try Provider.here()
            var metadata = ClientMetadata(nativeAppWith: provider.redirectURIs)
            metadata.tokenEndpointAuthMethod = "client_secret_basic"
            let registration = try await provider.registers(metadata)
            #expect(registration.clientSecretExpiresAt == nil)
            let secret = try #require(registration.clientSecret)

            let (state, _) = try await provider.signsIn(as: registration.clientID) {
                $0.authentication = .clientSecretBasic(secret)
                $0.registration = registration
            }
            try await state.isAlice()
            let wrong = await failure {
                _ = try await provider.signsIn(as: registration.clientID) {
                    $0.authentication = .clientSecretBasic(Secret("guessed"))
                }
            }
            #expect(wrong?.code == .invalidClient, "\(wrong as Any)")
        }

        @Test func `the program finds where to register`() async throws {
            struct Registered: Decodable { let client_id: String, token_endpoint_auth_method: String }
            let (provider, workspace) = (try Provider.here(), try Workspace())
            var program = Program(executable: try Places.program("sign-in"))
            program.environment["XDG_STATE_HOME"] = workspace.path("state")
            let response = try await program.run(
                ["register", "--issuer", provider.profile.issuer, "--json", "--redirect-uri"]
                    + provider.redirectURIs.prefix(1))
            #expect(response.status == 0, "\(response.errors)")
            let registered = try response.json(Registered.self)
            // The provider lists only methods with a secret, and names this one for each of them.
            #expect(!registered.client_id.isEmpty && registered.token_endpoint_auth_method == "client_secret_basic")
        }
    }
}
