import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import Testing

extension Integration {
    /// The requirements of a modern provider, at Glewlwyd, with the library itself.
    @Suite(.serialized, .provider("glewlwyd.py")) struct GlewlwydProtocol {
        /// RFC 9126.
        @Test func `a request is pushed, and the browser carries only its reference`() async throws {
            let (provider, wire) = (try Provider.here(), Wire())
            let (state, query) = try await provider.signsIn(as: "web", over: wire) {
                $0.clientSecret = try provider.secret(of: "web").map { Secret($0) }
                $0.options.isPushed = true
            }
            #expect(query.map(\.name) == ["client_id", "request_uri"])
            #expect(query.last?.value?.hasPrefix("urn:ietf:params:oauth:request_uri:") == true)
            #expect(await wire.statuses(at: "/par") == [201])
            try await state.isAlice()
        }

        /// RFC 9449: no proof without its nonce is taken, neither at the token endpoint nor at the resource.
        @Test func `tokens are bound to a key, by proofs with the nonce that it gives`() async throws {
            let (provider, wire) = (try Provider.here(), Wire())
            let (state, query) = try await provider.signsIn(as: "native", over: wire) { $0.dpop = .es256 }
            #expect(query.contains { $0.name == "dpop_jkt" })
            #expect(try await state.freshAccessToken().type == .dpop)
            #expect(await wire.statuses(at: "/token") == [400, 200], "refused once, for want of a nonce")
            try await state.isAlice()

            let token = try await state.freshAccessToken()
            #expect(try await state.freshAccessToken(forceRefresh: true).value != token.value)
            try await state.isAlice()
            #expect(try await provider.userInfoStatus(of: state.freshAccessToken(), as: "Bearer") == 401)
        }

        /// Core §9. It takes no audience but the URL of the endpoint, also where RFC 9126 §2 says that it has to know the issuer.
        @Test func `a client that registered its key authenticates with it at each endpoint`() async throws {
            let (provider, wire) = (try Provider.here(), Wire())
            let key = try ClientKey(pem: try await Self.key(), keyID: "the-app")
            var metadata = ClientMetadata(nativeAppWith: provider.redirectURIs, name: "Real App")
            metadata.tokenEndpointAuthMethod = "private_key_jwt"
            metadata.jwks = [key.publicJWK]
            let registration = try await provider.registers(metadata)
            #expect(registration.clientSecret == nil)

            let (state, _) = try await provider.signsIn(as: registration.clientID, over: wire) {
                $0.authentication = .privateKeyJWT(keyNamed: "the-app", audience: .endpoint)
                $0.environment.clientKey = { name in
                    #expect(name == "the-app")
                    return key
                }
                $0.options.isPushed = true
            }
            try await state.isAlice()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.revokeTokens().map(\.error) == [nil, nil])
            for path in ["/par", "/token", "/revoke"] {
                let form = try #require(await wire.forms(at: path).first)
                #expect(form.contains("&client_assertion="))
            }
        }

        /// JARM: the library takes no other response than a signed one, once it has asked for one.
        @Test(arguments: [AuthorizationRequest.ResponseMode.queryJWT, .formPostJWT])
        func `a response is signed`(mode: AuthorizationRequest.ResponseMode) async throws {
            let (state, query) = try await Provider.here().signsIn(as: "native") { $0.options.responseMode = mode }
            #expect(query.contains(URLQueryItem(name: "response_mode", value: mode.rawValue)))
            try await state.isAlice()
        }

        /// RFC 7662. In a signed response its 'aud' is that of the token, where RFC 9701 §5 has the requester: it is refused.
        @Test func `a token is introspected`() async throws {
            let provider = try Provider.here()
            let secret = Secret(try #require(try provider.secret(of: "web")))
            let metadata = try await provider.metadata(with: .introspection)
            let client = Client(id: "web", authentication: .clientSecretBasic(secret), provider: metadata)
            let state = try await AuthState.present(
                .clientCredentials(scope: [.profile]), as: client, store: MemoryTokenStore(),
                environment: .live)
            let token = try await state.freshAccessToken().value

            let introspection = try IntrospectionEndpoint(client: client, environment: .live)
            let active = try await introspection.introspect(token)
            #expect(active.isActive && active.clientID == "web" && active.scope == [.profile])
            let signed = await failure {
                _ = try await IntrospectionEndpoint(client: client, isSigned: true, environment: .live)
                    .introspect(token)
            }
            #expect(signed?.message.contains("expected 'aud' to contain 'web'") == true, "\(signed as Any)")
            let stranger = Client(id: "web", authentication: .clientSecretBasic(Secret("wrong")), provider: metadata)
            let refusal = await failure {
                _ = try await IntrospectionEndpoint(client: stranger, environment: .live).introspect(token)
            }
            #expect(refusal?.httpStatus == 401)

            #expect(await state.revokeTokens().map(\.error) == [nil])
            let revoked = try await introspection.introspect(token)
            #expect(!revoked.isActive)
        }

        /// RFC 7591, RFC 7592. Its response to a reading has an array where a string has to be, which is passed over, and its
        /// response to a deletion is 200 where §2.3 has 204, which is accepted.
        @Test func `a client registers itself, and changes its registration`() async throws {
            let provider = try Provider.here()
            let registration = try await provider.registers(
                ClientMetadata(nativeAppWith: provider.redirectURIs, name: "Real App"))
            #expect(registration.clientSecret == nil && registration.metadata.clientName == "Real App")
            let changed = try await registration.update(in: .live) { $0.clientName = "Another Name" }
            #expect(changed.clientID == registration.clientID && changed.metadata.clientName == "Another Name")

            let read = try await changed.read(in: .live)
            #expect(read.clientID == changed.clientID && read.metadata.clientName == "Another Name")
            try await read.delete(in: .live)
            let gone = await failure { _ = try await read.read(in: .live) }
            #expect(gone?.httpStatus == 401)

            let elsewhere = ClientMetadata(nativeAppWith: ["http://app.example/callback"])
            #expect(await failure { _ = try await provider.registers(elsewhere) }?.code == .invalidRedirectURI)
        }

        private static func key() async throws -> String {
            let made = try await Program.named("openssl").run([
                "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
            ])
            return made.output
        }
    }
}
