import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A dialect translates the messages of a server that deviates from the RFCs.
struct DialectTests {
    @Test func `a token request is changed before it is sent, a refresh too, and nothing else is`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.tokenRequest = { form, fields, client in
                form.append("called_by", client.id)
                fields[.init("X-Dialect")!] = "yes"
                form.remove("scope")
            }
            let grant = try TokenGrant(
                GrantType(rawValue: "password"), scope: [.openID, .offlineAccess],
                parameters: ["username": Secret("alice"), "password": Secret("looking-glass")])
            let client = try await world.client(
                "demo-confidential", .clientSecretPost(Secret("s3cret: 100% äß+/= and thirty-two")))
            let state = try await AuthState.present(
                grant, as: client, store: MemoryTokenStore(), environment: environment)
            let forms = world.provider.log(.token).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(forms.allSatisfy { $0.hasSuffix("&called_by=demo-confidential") && !$0.contains("scope=") })
            #expect(world.provider.log(.token).allSatisfy { $0.headers[.init("X-Dialect")!] == "yes" })
            _ = await state.revokeTokens()
            #expect(world.provider.log(.revocation).allSatisfy { $0.headers[.init("X-Dialect")!] == nil })
            #expect(world.provider.count(.revocation) > 0)
        }
    }

    @Test func `a token exchange is translated, too`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.tokenRequest = { form, _, _ in form.append("called_by", "dialect") }
            environment.dialect.tokenResponse = { response in
                var response = response
                response.body = Array(
                    #"{"access_token":"x","token_type":"Bearer","issued_token_type":"urn:x"}"#.utf8)
                return response
            }
            let store = TestStore()
            _ = try await world.signIn(store: store)
            world.provider.fault(.respond(.json(["key": "x"])), at: .token)
            let state = try #require(await AuthState(restoring: store, environment: environment))
            let exchanged = try await state.exchange(
                TokenExchangeRequest(of: SecurityToken(Secret("y"), kind: .accessToken)))
            #expect(exchanged.value == Secret("x"))
            #expect(world.provider.log(.token).last?.form["called_by"] == "dialect")
        }
    }

    @Test func `a response is translated, and then read as strictly as any`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.tokenResponse = { response in
                guard let token = (try? JSON(parsing: response.body))?["key"] else { return response }
                var response = response
                response.body = Array(JSON.object(["access_token": token, "token_type": "Bearer"]).serialized().utf8)
                return response
            }
            let client = try await world.client(
                "demo-service", .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")))
            func session() async throws -> AuthState {
                try await AuthState.present(
                    .clientCredentials(), as: client, store: MemoryTokenStore(), environment: environment)
            }
            world.provider.fault(.respond(.json(["key": "abc"])), at: .token)
            #expect(try await session().freshAccessToken().value == Secret("abc"))
            world.provider.fault(.respond(.json(["key": 1])), at: .token)
            #expect(await authError { try await session() }?.code == .invalidResponse)
        }
    }

    @Test func `an error is translated, and ends the session if it says so`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.tokenResponse = { response in
                guard response.status == .unauthorized else { return response }
                var response = response
                response.head.status = .badRequest
                response.body = Array(#"{"error":"invalid_grant"}"#.utf8)
                return response
            }
            let record = try await world.signIn().record
            let state = try await AuthState(record: record, store: MemoryTokenStore(), environment: environment)
            world.provider.fault(.status(.unauthorized, json: ["error": "That token is gone"]), at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
        }
    }

    @Test func `a token is put on a request in the server's own way`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.authorize = { token, fields in
                fields[.authorization] = #"Token token="\#(token.value.reveal())""#
            }
            let state = try await AuthState(
                record: try await world.signIn().record, store: MemoryTokenStore(), environment: environment)
            _ = try await state.send(api(world))
            let sent = try #require(world.provider.log(.api).first).headers[.authorization]
            #expect(sent == #"Token token="\#(try await state.freshAccessToken().value.reveal())""#)
        }
    }

    @Test func `a dead token is known by the server's own response`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.dialect.refusesToken = { response in
                response.status == .badRequest && (try? JSON(parsing: response.body))?["status"] == .bool(false)
            }
            let state = try await AuthState(
                record: try await world.signIn().record, store: MemoryTokenStore(), environment: environment)
            world.provider.fault(.status(.badRequest, json: ["status": false]), at: .api)
            #expect(try await state.send(api(world)).status == .ok)
            #expect(world.provider.count(.api) == 2)
            world.provider.fault(.status(.badRequest, json: ["status": true]), at: .api)
            #expect(try await state.send(api(world)).status == .badRequest)
            #expect(world.provider.count(.api) == 3)
        }
    }

    private func api(_ world: World) throws -> TransportRequest {
        TransportRequest(HTTPRequest(method: .get, url: try SecureURL(world.provider.url(.api))))
    }
}
