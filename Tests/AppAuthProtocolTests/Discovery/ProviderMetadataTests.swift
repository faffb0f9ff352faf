import AppAuthProtocol
import Foundation
import JOSE
import TestFixtures
import Testing

struct ProviderMetadataTests {
    @Test func `metadata can be made by hand`() throws {
        let metadata = try ProviderMetadata(
            issuer: "https://op.example",
            endpoints: [.token: "https://op.example/t", .init(rawValue: "x"): "https://h"])
        #expect(metadata.issuer.string == "https://op.example")
        #expect(metadata[.token]?.string == "https://op.example/t")
        #expect(metadata[.init(rawValue: "x")]?.string == "https://h")
        #expect(metadata[.authorization] == nil)
    }

    @Test func `missing members have the defaults of the specifications`() throws {
        let metadata = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
        #expect(metadata.idTokenSigningAlgorithms == ["RS256"])
        #expect(metadata.tokenEndpointAuthMethods == nil)
        #expect(metadata.codeChallengeMethods == nil)
        #expect(metadata.scopes == nil)
        #expect(!metadata.authorizationResponseIssParameterSupported)
        #expect(!metadata.requiresPushedAuthorizationRequests)
    }

    @Test(arguments: [
        "id_token_signing_alg_values_supported", "userinfo_signing_alg_values_supported",
        "authorization_signing_alg_values_supported",
    ])
    func `a list of algorithms has to be one of strings`(name: String) throws {
        for value in ["RS256", ["RS256", 1], ["a": "b"], 1] as [JSON] {
            let error = try #require(refusal { try metadata([name: value]) })
            #expect(error.code == .invalidMetadata)
            #expect(error.message.contains("'\(name)'"))
        }
        for value in [["RS256"], [], .null] as [JSON] { #expect(refusal { try metadata([name: value]) } == nil) }
    }

    @Test(arguments: ["RS256", ["RS256", 1], ["a": "b"], 1] as [JSON])
    func `any other list that is none counts as absent`(value: JSON) throws {
        let metadata = try metadata([
            "token_endpoint_auth_methods_supported": value, "code_challenge_methods_supported": value,
            "scopes_supported": value, "response_modes_supported": value,
        ])
        #expect(metadata.tokenEndpointAuthMethods == nil && metadata.codeChallengeMethods == nil)
        #expect(metadata.scopes == nil && metadata.responseModes == nil)
    }

    @Test func `it survives being stored`() throws {
        let before = try metadata(["x": ["é": [1, nil, true]]])
        let stored = try JSONEncoder().encode(before)
        #expect(try JSONDecoder().decode(ProviderMetadata.self, from: stored) == before)
        let wrong = Data(#"{"issuer":"http://op.example"}"#.utf8)
        #expect(throws: (any Error).self) { try JSONDecoder().decode(ProviderMetadata.self, from: wrong) }
    }

    private func metadata(_ more: JSON.Object) throws -> ProviderMetadata {
        try ProviderMetadata(issuer: "https://op.example", endpoints: [:], more: more)
    }
}
