import AppAuthProtocol
import HTTPTypes
import JOSE
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
        ("access_denied", "It's late (again); call 5", "access_denied: 'It’s late (again); call 5'"),
        ("https://op.example/e1", nil, "https://op.example/e1"),
        ("Sign in again with: rm", nil, "'Sign in again with: rm'"), ("a'. Run b", nil, "'a’. Run b'"),
        ("größe", nil, "'größe'"),
        ("x", #"over". Run \"b\" $(c) `d`!"#, #"x: 'over". Run /"b/" $(c) ’d’!'"#),
        ("x", "over”. Run «b» ＂c＇❝", "x: 'over’. Run ’b’ ’c’'"), ("x", "a\nb", "x: 'a b'"),
    ])
    func `a server's words stand in quotes that they cannot end`(error: String, description: String?, summary: String) {
        #expect(OAuthError(error: error, errorDescription: description).summary == summary)
    }

    /// The body, its type, and what the message says after the status.
    private static let bodies: [(String, String, String?)] = [
        (#"{"error":{"code":7,"message":"No such client"}}"#, "application/json", "No such client"),
        (#"{"message":"Blocked by a rule","status":403}"#, "application/json", "Blocked by a rule"),
        (#"{"title":"Bad","detail":"The tenant is gone"}"#, "application/problem+json", "The tenant is gone"),
        (#"{"title":"Bad"}"#, "application/problem+json", "Bad"),
        (#"{"errors":[{"message":"Unknown application"}]}"#, "application/json", "Unknown application"),
        (#"{"errors":["Unknown application"]}"#, "application/json", "Unknown application"),
        (#"{"hint":"Use the other endpoint"}"#, "application/json", "Use the other endpoint"),
        (#"{"detail":[{"loc":["body"],"msg":"Field required"}]}"#, "application/json", "Field required"),
        (#"{"errorCode":"E1","errorSummary":"Not allowed"}"#, "application/json", "Not allowed"),
        (#"{"errorMessage":"Realm disabled"}"#, "application/json", "Realm disabled"),
        (#"{"code":400,"msg":"Sign-ups are off"}"#, "application/json", "Sign-ups are off"),
        (#"{"Message":"Request denied"}"#, "application/json", "Request denied"),
        (#"{"message":["name must be set","x"]}"#, "application/json", "name must be set"),
        (#"{"errors":{"redirect_uri":["is not allowed"]}}"#, "application/json", "is not allowed"),
        (#"{"fault":{"faultstring":"Quota is used up"}}"#, "application/json", "Quota is used up"),
        ("Upgrade your plan\nnow", "text/plain; charset=utf-8", "Upgrade your plan"),
        ("the code the-secret-code is \"used\"", "text/plain", #"the code [redacted] is "used""#),
        ("<!DOCTYPE html><html><head><TITLE lang=en>\nJust a\n moment... </TITLE>", "text/html", "Just a moment..."),
        ("<title>the-secret-code</title>", "text/html", "[redacted]"),
        ("<title></title><p>Sorry</p>", "text/html", nil), ("a <title>b</title>", "text/html", nil),
        ("<p>Sorry</p>", "text/html", nil), ("Sorry", "application/json", nil),
        (#"{"errors":[]}"#, "application/json", nil),
        ("", "text/plain", nil),
    ]

    /// A server decides how deep its JSON is: each level must not double the work.
    @Test(arguments: ["message", "errors", "x"])
    func `a deep error takes no time`(name: String) throws {
        for end in ["\"x\"", "1", "[]"] {
            let body =
                String(repeating: "{\"error\":\"e\",\"\(name)\":", count: 60) + end + String(repeating: "}", count: 60)
            let response = TransportResponse(
                HTTPResponse(status: .badRequest, headerFields: [.contentType: "application/json"]),
                body: Array(body.utf8))
            let error = response.oauthError(from: try SecureURL("https://op.example/token"), stage: .token)
            #expect(error.httpStatus == 400)
        }
    }

    @Test(arguments: bodies)
    func `the words of a server that does not answer as OAuth says are shown`(
        body: String, type: String, words: String?
    ) throws {
        let response = TransportResponse(
            HTTPResponse(status: .badRequest, headerFields: [.contentType: type]), body: Array(body.utf8))
        let url = try SecureURL("https://op.example/token")
        let error = response.oauthError(from: url, stage: .token, hiding: [Secret("the-secret-code")])
        let status = "expected status 200 from https://op.example/token, found 400"
        #expect(error.message == status + (words.map { ": '\($0)'" } ?? ""))
        #expect(error.code == .invalidResponse && error.server == nil)
    }

    @Test(arguments: [
        (#""error_description":"Gone","message":"No""#, "Gone"), (#""message":"No such client""#, "No such client"),
        (#""error_description":"Bad","hint":"Check client_id""#, "Bad Check client_id"),
        (#""hint":"Check client_id""#, "Check client_id"), (#""message":7"#, nil),
        (#""detail":"No such client""#, "No such client"), (#""errors":["No such client"]"#, "No such client"),
    ])
    func `beside an OAuth error, a message or a hint is its description`(members: String, description: String?) throws {
        let body = #"{"error":"invalid_client",\#(members)}"#
        let response = TransportResponse(
            HTTPResponse(status: .badRequest, headerFields: [.contentType: "application/json"]), body: Array(body.utf8))
        let error = response.oauthError(from: try SecureURL("https://op.example/token"), stage: .token)
        #expect(error.server?.errorDescription == description && error.code == .invalidClient)
    }
}
