import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// `--par` (RFC 9126) and `--dpop` (RFC 9449).
@Suite(.timeLimit(.minutes(5)))
struct BoundTokenTests {
    @Test func `with --par the browser carries only a reference`() async throws {
        try await withDesk { fixture in
            let result = try await fixture.login("--par").result()
            #expect(result["token_type"]?.string == "Bearer")
            let sent = try #require(fixture.provider.log(.authorization).first)
            #expect(sent.query.names.sorted() == ["client_id", "request_uri"])
            #expect(fixture.provider.count(.pushedAuthorization) == 1)
        }
    }

    @Test func `a provider that requires PAR gets it without --par`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.requiresPushedRequests = true
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login().result()
            #expect(fixture.provider.count(.pushedAuthorization) == 1)
        }
    }

    @Test func `features that the provider lacks are reported before the browser opens`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["pushed_authorization_request_endpoint"] = nil }, at: .openIDConfiguration)
            let message = try await fixture.login("--par").failure(1, "invalid_metadata")
            #expect(message.contains("pushed_authorization_request_endpoint"))
            #expect(fixture.browser.visits.isEmpty)
        }
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["dpop_signing_alg_values_supported"] = ["RS512"] }, at: .openIDConfiguration)
            let message = try await fixture.login("--dpop").failure(1, "invalid_metadata")
            #expect(message.contains("ES256"))
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test func `with --dpop the tokens are bound to a key that later commands read from the store`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].requiresDPoP = true
        configuration.dpopNonce = .required()
        try await withDesk(configuration) { fixture in
            let result = try await fixture.login("--dpop", "--userinfo").result()
            #expect(result["token_type"]?.string == "DPoP")
            #expect(result["userinfo"]?["sub"]?.string == "248289761001")
            let token = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(token["token_type"]?.string == "DPoP")
            let claims = try await fixture.run("userinfo", "--json").result()
            #expect(claims["sub"]?.string == "248289761001")
            let echo = try await fixture.run("request", "GET", fixture.issuer + "/api/echo", "--json").result()
            #expect(echo["status"]?.int == 200)
            let request = try #require(fixture.provider.log(.api).last)
            #expect(request.headers[.authorization]?.hasPrefix("DPoP ") == true)
            let out = try await fixture.run("logout", "--revoke-only", "--json").result()
            #expect(out["revoked"] == ["refresh_token", "access_token"])
        }
    }

    @Test func `with --dpop a session by a code for another device is bound too`() async throws {
        try await withDesk(.device { $0.clients[0].requiresDPoP = true }) { fixture in
            let process = try fixture.device("--dpop")
            try await DeviceCode(process).decide("allow")
            #expect(try await process.outcome().result()["token_type"]?.string == "DPoP")
            #expect(try await fixture.run("userinfo", "--json").result()["sub"]?.string == "248289761001")
        }
    }
}
