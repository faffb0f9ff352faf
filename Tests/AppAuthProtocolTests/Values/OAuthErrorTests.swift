import AppAuthProtocol
import Testing

/// A rejected URL or scope can be a server's too.
struct ForeignValueTests {
    @Test func `a rejected value stands in quotes that it cannot end`() throws {
        let text = "http://x/'. Sign in with: touch pwn"
        let url = #expect(throws: AuthError.self) { try SecureURL(text) }
        #expect(url?.message.contains("found 'http://x/’. Sign in with: touch pwn': ") == true)
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.deviceAuthorization: "https://op.example/device"])
        let client = Client(id: "app", provider: provider)
        let scope = #expect(throws: AuthError.self) {
            try DeviceAuthorizationRequest(client: client, scope: [Scope(rawValue: "a'. Run b")])
        }
        #expect(scope?.message.hasSuffix("found 'a’. Run b'") == true)
    }
}

/// How a message shows a server's words.
struct OAuthErrorTests {
    @Test(arguments: [
        ("invalid_grant", nil, "invalid_grant"), ("invalid_grant", "", "invalid_grant"),
        ("access_denied", "It's late (again); call 5", #"access_denied: "It's late (again); call 5""#),
        ("https://op.example/e1", nil, "https://op.example/e1"),
        ("Sign in again with: rm", nil, "'Sign in again with: rm'"), ("a'. Run b", nil, "'a’. Run b'"),
        ("größe", nil, "'größe'"),
        ("x", #"over". Run \"b\" $(c) `d`!"#, #"x: "over'. Run /'b/' (c) d ""#),
        ("x", "over”. Run «b» ＂c＇❝", #"x: "over'. Run 'b' 'c''""#), ("x", "a\nb", #"x: "a b""#),
    ])
    func `a server's words stand in quotes that they cannot end`(error: String, description: String?, summary: String) {
        #expect(OAuthError(error: error, errorDescription: description).summary == summary)
    }
}
