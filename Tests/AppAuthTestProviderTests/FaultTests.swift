import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// Each fault as it is seen on the wire.
@Suite struct FaultTests {
    private func get(_ provider: LocalProvider, limit: Int = .max) async throws -> Wire.Response {
        try await Wire.send("GET", provider.url(.openIDConfiguration), limit: limit)
    }

    /// Responses that are compared have the same date.
    private let stopped = LocalProvider.Configuration.demo { $0.clock = { Date(timeIntervalSince1970: 1_750_000_000) } }

    @Test func `a response can end early`() async throws {
        try await withLocalProvider(stopped) { provider in
            let whole = try await get(provider)
            #expect(whole.isComplete)
            provider.fault(.cutOff(after: 300), at: .openIDConfiguration)
            let cut = try await get(provider)
            #expect(cut.bytes == Array(whole.bytes.prefix(300)))
            #expect(cut.end == .closed)
            #expect(!cut.isComplete)
            #expect(try await get(provider).isComplete)
        }
    }

    @Test func `a connection can be reset, before and within the response`() async throws {
        try await withLocalProvider { provider in
            provider.fault(.reset(), at: .openIDConfiguration)
            let nothing = try await get(provider)
            #expect(nothing.end == .reset)
            #expect(nothing.bytes.isEmpty)
            provider.fault(.reset(after: 20), at: .openIDConfiguration)
            let begun = try await get(provider)
            #expect(begun.end == .reset)
            #expect(begun.bytes.count <= 20)
        }
    }

    @Test func `a response can drip and is whole in the end`() async throws {
        try await withLocalProvider(stopped) { provider in
            let whole = try await get(provider)
            provider.fault(.drip(), at: .openIDConfiguration)
            #expect(try await get(provider).bytes == whole.bytes)
            provider.fault(.drip(every: .seconds(3600)), at: .openIDConfiguration)
            #expect(try await get(provider, limit: 1).bytes == Array("H".utf8))
        }
    }

    @Test func `a response can be late`() async throws {
        try await withLocalProvider { provider in
            provider.fault(.delay(.milliseconds(200)), at: .openIDConfiguration)
            let clock = ContinuousClock()
            let late = try await clock.measure { _ = try await get(provider) }
            #expect(late >= .milliseconds(200))
        }
        try await withLocalProvider(.demo { $0.latency = [.openIDConfiguration: .milliseconds(150)] }) { provider in
            let clock = ContinuousClock()
            let late = try await clock.measure { _ = try await get(provider) }
            #expect(late >= .milliseconds(150))
        }
    }

    @Test func `a status can replace a response, and nothing was done`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            provider.fault(.status(.internalServerError), at: .token)
            provider.fault(.unavailable(retryAfter: 7), at: .token)
            provider.fault(.tooManyRequests(retryAfter: 9), at: .token)
            provider.fault(.status(.badRequest, json: ["error": "temporarily_unavailable"]), at: .token)
            provider.fault(.htmlPage, at: .token)
            provider.fault(.redirect(to: "http://127.0.0.1:1/elsewhere"), at: .token)
            let responses = [
                try await flow.refresh(token), try await flow.refresh(token), try await flow.refresh(token),
                try await flow.refresh(token), try await flow.refresh(token), try await flow.refresh(token),
            ]
            #expect(responses.map(\.status) == [500, 503, 429, 400, 200, 307])
            #expect(responses[1].header("Retry-After") == "7")
            #expect(responses[2].header("Retry-After") == "9")
            #expect(responses[3].json?["error"]?.string == "temporarily_unavailable")
            #expect(responses[4].header("Content-Type") == "text/html; charset=utf-8")
            #expect(responses[5].header("Location") == "http://127.0.0.1:1/elsewhere")
            #expect(provider.isAlive(token))
            #expect(try await flow.refresh(token).status == 200)
            #expect(provider.count(.token) == 7)
        }
    }

    @Test func `a response can be lost after the refresh token was rotated`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            provider.fault(.lostResponse, at: .token)
            let lost = try await flow.refresh(token)
            #expect(lost.bytes.isEmpty)
            #expect(lost.end == .closed)
            #expect(!provider.isAlive(token))
            #expect(provider.log(.token).last?.status == 200)
            #expect(try await flow.refresh(token).json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `a response can come twice, to a request that was acted on once`() async throws {
        try await withLocalProvider(stopped) { provider in
            let once = try await get(provider)
            provider.fault(.duplicatedResponse, at: .openIDConfiguration)
            #expect(try await get(provider).bytes == once.bytes + once.bytes)
            #expect(provider.count(.openIDConfiguration) == 2)
        }
    }

    @Test func `a response can be another one after the request was acted on`() async throws {
        try await withLocalProvider { provider in
            let token = try #require(try provider.mintSession().refreshToken)
            provider.fault(.respondAfterwards(Reply(.badGateway)), at: .token)
            #expect(try await Flow(provider: provider).refresh(token).status == 502)
            #expect(!provider.isAlive(token))
        }
    }

    @Test func `a body can be too large and still be JSON, or have no end`() async throws {
        try await withLocalProvider { provider in
            provider.fault(.oversize(bytes: 2 << 20), at: .openIDConfiguration)
            let large = try await get(provider)
            #expect(large.body.count == 2 << 20)
            #expect(large.json?["issuer"]?.string == provider.issuer)
            provider.fault(.endless, at: .openIDConfiguration)
            let endless = try await get(provider, limit: 5 << 20)
            #expect(endless.header("Content-Length") == nil)
            #expect(endless.body.count > 4 << 20)
            #expect(try await get(provider).isComplete)
        }
    }

    @Test func `documents can be edited`() async throws {
        try await withLocalProvider { provider in
            provider.fault(
                .editDocument { $0["issuer"] = "https://evil.example" }, at: .openIDConfiguration, times: nil)
            for _ in 0..<3 { #expect(try await get(provider).json?["issuer"]?.string == "https://evil.example") }
            provider.clearFaults()
            #expect(try await get(provider).json?["issuer"]?.string == provider.issuer)

            provider.fault(
                .editDocument { document in
                    document["token_type"] = "mac"
                    document["expires_in"] = nil
                }, at: .token)
            let tokens = try await Flow(provider: provider).refresh(#require(try provider.mintSession().refreshToken))
            #expect(tokens.json?["token_type"]?.string == "mac")
            #expect(tokens.json?["expires_in"] == nil)

            provider.fault(.editDocument { $0["keys"] = [] }, at: .keys)
            #expect(try await Wire.send("GET", provider.url(.keys)).json == ["keys": []])

            provider.fault(.editReply { $0.headers[.contentType] = "text/plain" }, at: .openIDConfiguration)
            #expect(try await get(provider).header("Content-Type") == "text/plain")
        }
    }

    @Test func `several faults can happen at once, in a row, a number of times`() async throws {
        try await withLocalProvider { provider in
            provider.fault(
                .all([.editDocument { $0["issuer"] = "x" }, .drip()]), at: .openIDConfiguration, times: 2)
            provider.fault(.status(.notFound), at: .openIDConfiguration)
            let first = try await get(provider)
            #expect(first.json?["issuer"]?.string == "x")
            #expect(try await get(provider).json?["issuer"]?.string == "x")
            #expect(try await get(provider).status == 404)
            #expect(try await get(provider).json?["issuer"]?.string == provider.issuer)
            // Another endpoint has faults of its own.
            #expect(provider.count(.keys) == 0)
        }
    }

    // MARK: ID tokens

    private func idToken(_ provider: LocalProvider, _ fault: @escaping @Sendable (inout JWTDraft) -> Void)
        async throws -> String
    {
        provider.fault(.editIDToken(fault), at: .token)
        let response = try await Flow(provider: provider).refresh(#require(try provider.mintSession().refreshToken))
        return try #require(response.json?["id_token"]?.string)
    }

    @Test func `the claims of an ID token can be wrong under a valid signature`() async throws {
        try await withLocalProvider { provider in
            let token = try await idToken(provider) { draft in
                draft.claims["iss"] = "https://evil.example"
                draft.claims["aud"] = ["demo", "other"]
                draft.claims["sub"] = nil
            }
            let claims = try await verifiedClaims(token, provider)
            #expect(claims["iss"]?.string == "https://evil.example")
            #expect(claims["aud"]?.strings == ["demo", "other"])
            #expect(claims["sub"] == nil)
            let next = try await Flow(provider: provider).refresh(#require(try provider.mintSession().refreshToken))
            #expect(try await verifiedClaims(next.json?["id_token"]?.string, provider)["sub"] != nil)
        }
    }

    private func isSigned(_ token: String, _ provider: LocalProvider) async throws -> Bool {
        let jws = try JWS(compact: token)
        let keys = try JWKSet(#require(try await Wire.send("GET", provider.url(.keys)).json))
        return keys.candidates(kid: jws.header.kid, algorithm: .rs256).contains {
            jws.isSigned(by: $0, algorithm: .rs256)
        }
    }

    @Test func `the signature of an ID token can be wrong`() async throws {
        try await withLocalProvider { (provider) async throws in
            #expect(try await isSigned(try await idToken(provider) { _ in }, provider))
            #expect(try await !isSigned(try await idToken(provider) { $0.signature = .damaged(.rs256) }, provider))
            #expect(
                try await !isSigned(try await idToken(provider) { $0.signature = .unpublishedKey(.rs256) }, provider))
            #expect(try await !isSigned(try await idToken(provider) { $0.header["kid"] = "unknown" }, provider))
            #expect(try await isSigned(try await idToken(provider) { $0.header["kid"] = nil }, provider))
        }
    }

    @Test func `an ID token can be unsigned or signed with a secret`() async throws {
        try await withLocalProvider { provider in
            let unsigned = try await idToken(provider) { $0.signature = .none }
            #expect(unsigned.hasSuffix("."))
            #expect(try JWS(compact: unsigned).header.alg == "none")
            let secret = Array("public key, taken for a client secret".utf8)
            let mac = try JWS(compact: try await idToken(provider) { $0.signature = .secret(.hs256, secret) })
            #expect(mac.isSigned(bySecret: secret, algorithm: .hs256))
        }
    }

    @Test func `an OAuth error can replace a response`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            provider.fault(.oauthError("invalid_grant"), at: .token)
            provider.fault(.oauthError("invalid_client", .unauthorized), at: .token)
            let first = try await flow.refresh(token)
            #expect(first.status == 400 && first.json?["error"]?.string == "invalid_grant")
            let second = try await flow.refresh(token)
            #expect(second.status == 401 && second.json?["error"]?.string == "invalid_client")
            #expect(second.header("Cache-Control") == "no-store")
            #expect(try await flow.refresh(token).status == 200)
        }
    }

    @Test func `a fault can wait for the requests of a grant type`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            provider.fault(.htmlPage, at: .token, grantType: "refresh_token")
            provider.fault(.status(.internalServerError), at: .token)
            let code = try #require(try await flow.authorize()["code"])
            #expect(try await flow.exchange(code).status == 500)
            #expect(try await flow.exchange(code).status == 200)
            #expect(try await flow.refresh(token).text.contains("Welcome"))
            #expect(try await flow.refresh(token).status == 200)
        }
    }

    // MARK: Holds

    @Test func `a hold parks the response after the request was acted on`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            let hold = provider.hold(.token)
            async let response = flow.refresh(token)
            try await hold.arrived()
            #expect(!provider.isAlive(token))
            #expect(provider.log(.token).last?.status == nil)
            hold.release()
            #expect(try await response.status == 200)
            #expect(try await flow.refresh(#require(try provider.mintSession().refreshToken)).status == 200)
        }
    }

    @Test func `a hold can park requests before they are acted on, and counts them`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            let hold = provider.hold(.token, before: .request)
            async let first = flow.refresh(token)
            async let second = flow.refresh(token)
            try await hold.arrived(2)
            try await provider.requests(2, at: .token)
            #expect(provider.isAlive(token))
            hold.release()
            #expect(try await Set([first.status, second.status]) == [200, 400])
        }
    }

    @Test func `a wait for requests that do not come ends with the number of those that came`() async throws {
        try await withLocalProvider { provider in
            let hold = provider.hold(.openIDConfiguration)
            async let response = get(provider)
            try await hold.arrived()
            for wait in [
                { try await hold.arrived(2, within: .milliseconds(10)) },
                { try await provider.requests(2, at: .openIDConfiguration, within: .milliseconds(10)) },
            ] as [@Sendable () async throws -> Void] {
                let error = await #expect(throws: (any Error).self) { try await wait() }
                #expect(error.map { "\($0)" } == "expected 2 requests within 0.01 seconds, found 1")
            }
            hold.release()
            #expect(try await response.bytes.isEmpty == false)
        }
    }

    @Test func `a stopped provider closes the connections that it holds`() async throws {
        let provider = try await LocalProvider.start()
        let hold = provider.hold(.openIDConfiguration)
        async let response = get(provider)
        try await hold.arrived()
        await provider.stop()
        #expect(try await response.bytes.isEmpty)
        await #expect(throws: (any Error).self) { try await get(provider) }
    }
}
