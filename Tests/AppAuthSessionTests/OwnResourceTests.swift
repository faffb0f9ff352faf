import AppAuthProtocol
import AppAuthSession
import Testing

/// Which APIs a session is for.
struct OwnResourceTests {
    @Test(
        arguments: [
            ("https://api.example/v1", "https://api.example/v1", true),
            ("https://api.example/v1", "https://API.example:443/v1/me?a=b", true),
            ("https://api.example/v1/", "https://api.example/v1/me", true),
            ("https://api.example", "https://api.example/anything", true),
            ("https://api.example/v1?t=1", "https://api.example/v1?t=1", true),
            ("https://api.example/v1?t=1", "https://api.example/v1?t=2", false),
            ("https://api.example/v1?t=1", "https://api.example/v1", false),
            ("https://api.example/v1", "https://api.example/v10", false),
            ("https://api.example/v1", "https://api.example/", false),
            ("https://api.example/v1/", "https://api.example/v1", true),
            ("https://api.example/v1/", "https://api.example/v10", false),
            ("https://api.example/v1/", "https://api.example/v", false),
            ("https://api.example/v1", "https://api.example/v1?a=b", true),
            ("https://api.example/v1", "https://api.example/v?/v1", false),
            ("https://api.example/v1?t=1", "https://api.example/v1?t=1&a=b", true),
            ("https://api.example/v1?t=1", "https://api.example/v1?t=10", false),
            ("https://api.example/v1", "https://api.example/v1/a%2Fb", true),
            ("https://api.example/v1", "https://api.example/v1%2Fa", false),
            ("https://api.example/a%2Fb", "https://api.example/a%2Fb/c", true),
            ("https://api.example/a%2Fb", "https://api.example/a/b", false),
            ("https://api.example/v1", "https://api.example/v1/100%25/a%3Bb%5Cc", true),
            ("https://api.example/v1", "http://127.0.0.1/v1", false),
            ("http://127.0.0.1/v1", "https://127.0.0.1/v1", false),
            ("https://zoe@api.example/v1", "https://api.example/v1", false),
            ("https://api.example/v1", "https://api.example:444/v1", false),
            ("https://api.example/v1", "https://evil.example/v1", false),
            ("https://api.example/v1", "https://api.example.evil.example/v1", false),
            ("https://api.example/v1", "https://api.example/v1/../admin", false),
            ("https://api.example/v1", "https://api.example/v1/%2E./admin", false),
            ("https://api.example/v1", "https://api.example/v1/..;/admin", false),
            ("https://api.example/v1", "https://api.example/v1/..%2fadmin", false),
            ("https://api.example/v1", "https://api.example/v1/%252e%252e/admin", false),
            ("https://api.example/v1", "https://api.example/v1/a%2F..%2F..%2Fadmin", false),
            ("https://api.example/v1", "https://api.example/v1/..%5Cadmin", false),
            ("https://api.example/v1", "https://api.example/v1/..%3B/admin", false),
            ("https://api.example/v1", "https://api.example/v1/%25252e%25252e%25252fadmin", false),
            ("https://api.example/v1", "https://api.example/v1/..a", true),
            ("urn:example:api", "https://api.example/v1", false),
        ])
    func `a URL is the session's if one of its resources contains it`(resource: String, url: String, isOwn: Bool) throws
    {
        let issuer: Issuer = "https://as.example"
        func record(_ resources: [String], listed: [String]) throws -> AuthStateRecord {
            let provider = try ProviderMetadata(
                issuer: issuer, endpoints: [:], more: ["protected_resources": .array(listed.map { .string($0) })])
            var record = try AuthStateRecord(
                client: Client(id: "c", provider: provider), accessToken: nil, refreshToken: nil)
            record.resources = resources
            return record
        }
        let url = try SecureURL(url)
        #expect(try record(["https://other.example", resource], listed: []).isOwnResource(url) == isOwn)
        #expect(try record([], listed: [resource]).isOwnResource(url) == isOwn)
        #expect(try !record([], listed: []).isOwnResource(url))
        // A server that another resource has named may list any.
        #expect(try !record(["https://other.example"], listed: [resource]).isOwnResource(url))
    }
}
