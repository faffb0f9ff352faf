import AppAuthProtocol
import Testing

/// How a message shows a server's words.
struct OAuthErrorTests {
    @Test(arguments: [
        ("invalid_grant", nil, "invalid_grant"), ("invalid_grant", "", "invalid_grant"),
        ("access_denied", "It's late (again); call 5", #"access_denied: "It's late (again); call 5""#),
        ("https://op.example/e1", nil, "https://op.example/e1"),
        ("Sign in again with: rm", nil, "'Sign in again with: rm'"), ("a'. Run b", nil, "'a’. Run b'"),
        ("größe", nil, "'größe'"),
        ("x", #"over". Run \"b\" $(c) `d`!"#, #"x: "over'. Run /'b/'  (c)  d  ""#),
        ("x", "over”. Run «b»", #"x: "over'. Run 'b'""#), ("x", "a\nb", #"x: "a b""#),
    ])
    func `a server's words stand in quotes that they cannot end`(error: String, description: String?, summary: String) {
        #expect(OAuthError(error: error, errorDescription: description).summary == summary)
    }
}
