import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import ScriptedBrowser
import TestFixtures
import Testing

/// What the scripted browser says if a page does not take its entries.
@Suite(.timeLimit(.minutes(1)))
struct ScriptedBrowserTests {
    @Test func `a wrong password is named at once`() async throws {
        try await World.run { world in
            let browser = ScriptedBrowser(
                transport: world.transport, entries: ["username": "alice", "password": "wrong"])
            let request = try AuthorizationRequest(
                client: try await world.client(), redirectURI: "http://127.0.0.1:49152/callback", scope: [.openID])
            let error = await authError { try await browser.visit(request.url) }
            #expect(error?.message.contains("did not accept the password") == true, "\(error.debugDescription)")
            #expect(world.provider.log(.interaction).count { $0.method == .post } == 1)
        }
    }

    @Test func `a page with an error status and no form is an error with its text`() async throws {
        try await World.run { world in
            let browser = ScriptedBrowser(transport: world.transport, entries: [:])
            let request = try AuthorizationRequest(
                client: try await world.client("wrong"), redirectURI: "http://127.0.0.1:49152/callback",
                scope: [.openID])
            let error = await authError { try await browser.visit(request.url) }
            #expect(error?.code == .browser && error?.httpStatus == 400, "\(error.debugDescription)")
            let message = try #require(error?.message)
            #expect(message.hasPrefix("the page at \(world.provider.url(.authorization)) has the status 400: '"))
            #expect(message.contains("The app that sent you here made a mistake. Nothing was shared with it."))
            #expect(!message.contains("<") && !message.contains("{") && !message.contains("state="), "\(message)")
        }
    }

    @Test(arguments: [
        (
            "<style>p{}</style><script>a<b</script><p>No&nbsp;such\u{1B}[2J\n client &amp; app&#39;s</p>",
            "No such [2J client & app’s"
        ),
        ("<!-- <b> -->" + String(repeating: "long ", count: 200), "long long"), ("", "400"),
    ])
    func `the text of an error page is clean and cut`(page: String, text: String) async throws {
        try await World.run { world in
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply("400 Bad Request", ["Content-Type: text/html"], body: page)
            }
            let browser = ScriptedBrowser(transport: world.transport, entries: [:])
            let error = await authError { try await browser.visit("http://\(server.authority)/a?state=s") }
            let message = try #require(error?.message)
            #expect(message.contains(text) && message.count < 500, "\(message)")
            #expect(message.allSatisfy { !$0.isNewline && $0 != "\u{1B}" && $0 != "<" }, "\(message)")
        }
    }

    @Test func `a sign-in of an unknown client ends at once with what the page says`() async throws {
        try await World.run { world in
            let error = await authError {
                _ = try await withScriptedBrowser(entries: [:], transport: world.transport) { browser in
                    var signIn = try SignIn(
                        issuer: Issuer(world.provider.issuer), clientID: "wrong", appName: "Harbour",
                        environment: world.environment)
                    signIn.browser = browser
                    // So that a sign-in that goes on waiting fails the test with another error.
                    signIn.timeout = .seconds(10)
                    return try await signIn.run(store: MemoryTokenStore())
                }
            }
            #expect(error?.code == .browser && error?.httpStatus == 400, "\(error.debugDescription)")
        }
    }

    @Test func `another entry that is not accepted is named too`() async throws {
        try await World.run { world in
            let browser = ScriptedBrowser(transport: world.transport, entries: ["user_code": "WRONG"])
            let error = await authError { try await browser.visit(world.provider.url(.deviceVerification)) }
            #expect(error?.message.contains("did not accept 'user_code'") == true, "\(error.debugDescription)")
        }
    }
}
