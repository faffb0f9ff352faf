import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// JWT-secured authorization responses (JARM).
@Suite struct AuthorizationResponseJWTTests {
    /// The one parameter of a response that is a token.
    private func response(_ response: Parameters) throws -> String {
        #expect(response.names == ["response"])
        return try #require(response["response"])
    }

    @Test(arguments: ["jwt", "query.jwt"])
    func `the response is one signed token with everything in it`(mode: String) async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let flow = Flow(provider: provider)
            let claims = try await verifiedClaims(
                response(try await flow.authorize(["response_mode": mode])), provider)
            #expect(claims.object?.names.sorted() == ["aud", "code", "exp", "iss", "state"])
            #expect(claims["iss"]?.string == provider.issuer)
            #expect(claims["aud"]?.string == "demo")
            #expect(claims["state"]?.string == "st&te=ü")
            #expect(claims["exp"]?.int == 1_800_000_600)
            #expect(try await flow.exchange(#require(claims["code"]?.string)).status == 200)
        }
    }

    @Test func `an error is in the token too`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            for (name, value, error) in [
                ("prompt", "none", "login_required"), ("scope", "unknown", "invalid_scope"),
            ] {
                let location = try await flow.refusal(["response_mode": "jwt", name: value])
                let claims = try await verifiedClaims(response(location), provider)
                #expect(claims["error"]?.string == error)
                #expect(claims["state"]?.string == "st&te=ü")
                #expect(claims["error_description"]?.string?.isEmpty == false)
            }
        }
    }

    @Test func `the token can come by a form`() async throws {
        try await withLocalProvider { provider in
            let (flow, browser) = (Flow(provider: provider), TestBrowser())
            #expect(try await browser.open(flow.authorizationURL(["response_mode": "form_post.jwt"])) == nil)
            #expect(try await browser.signIn() == nil)
            #expect(try await browser.submit("allow") == nil)
            let fields = try Flow.form(of: browser.page)
            #expect(Set(fields.keys) == ["response"])
            let claims = try await verifiedClaims(fields["response"], provider)
            #expect(try await flow.exchange(#require(claims["code"]?.string)).status == 200)
        }
    }

    @Test(arguments: SignatureAlgorithm.available)
    func `a client can ask for an algorithm, and the metadata names it`(algorithm: SignatureAlgorithm) async throws {
        var client = RegisteredClient.demo
        client.authorizationAlgorithm = algorithm
        try await withLocalProvider(.demo { $0.clients = [client] }) { provider in
            let response = try await Flow(provider: provider).refusal(["response_mode": "jwt", "prompt": "none"])
            let token = try self.response(response)
            #expect(try JWS(compact: token).header.alg == algorithm.rawValue)
            #expect(try await verifiedClaims(token, provider)["error"]?.string == "login_required")
            let metadata = try #require(try await Wire.send("GET", provider.url(.openIDConfiguration)).json)
            let algorithms = metadata["authorization_signing_alg_values_supported"]?.strings
            #expect(algorithms?.contains(algorithm.rawValue) == true)
        }
    }

    @Test func `a fault changes the token before it is signed, or how it is signed`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            func token(_ edit: @escaping @Sendable (inout JWTDraft) -> Void) async throws -> String {
                provider.fault(.editAuthorizationResponse(edit), at: .authorization)
                return try response(try await flow.refusal(["response_mode": "jwt", "prompt": "none"]))
            }
            let edited = try await token {
                $0.claims["aud"] = "another"
                $0.claims["iss"] = nil
                $0.claims["exp"] = 1
            }
            let claims = try await verifiedClaims(edited, provider)
            #expect(claims["aud"]?.string == "another")
            #expect(claims["iss"] == nil)
            #expect(claims["exp"]?.int == 1)
            #expect(try await token { $0.signature = .none }.hasSuffix("."))
            let keys = try JWKSet(#require(try await Wire.send("GET", provider.url(.keys)).json))
            for signature in [JWTDraft.Signature.damaged(.rs256), .unpublishedKey(.rs256), .key(.rs256)] {
                let jws = try JWS(compact: try await token { $0.signature = signature })
                let isRight = keys.keys.contains { jws.isSigned(by: $0, algorithm: .rs256) }
                if case .key = signature { #expect(isRight) } else { #expect(!isRight) }
            }
        }
    }
}
