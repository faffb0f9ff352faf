import AppAuthProtocol
import Testing

/// The parameters of a token request (RFC 6749 §4.4.2, §4.5, §6; RFC 8707 §2.2).
struct TokenRequestTests {
    private func form(_ grant: TokenGrant, _ parameters: TokenParameters = .session) throws -> [String] {
        try TokenRequest.present(grant, parameters).form.items.map { "\($0.name)=\($0.value)" }
    }

    @Test func `a grant asks for its own scope and resources unless the caller asks for others`() throws {
        let grant = try TokenGrant(
            .clientCredentials, scope: ["api", "more"], resources: ["https://api.example/"], parameters: [:])
        let start = "grant_type=client_credentials"
        #expect(try form(grant) == [start, "scope=api more", "resource=https://api.example/"])
        #expect(
            try form(grant, TokenParameters(scope: ["api"])) == [start, "scope=api", "resource=https://api.example/"])
        #expect(
            try form(grant, TokenParameters(resources: ["https://b.example/"]))
                == [start, "scope=api more", "resource=https://b.example/"])
    }

    @Test func `a grant without a scope sends none, unless the caller asks for one`() throws {
        let grant = try TokenGrant(.clientCredentials)
        #expect(try form(grant) == ["grant_type=client_credentials"])
        #expect(try form(grant, TokenParameters(scope: ["api"])) == ["grant_type=client_credentials", "scope=api"])
    }
}
