import AppAuthTestProvider
import JOSE
import Testing

/// The option `--fault` of `local-provider`, seen from outside.
@Suite struct CommandFaultTests {
    /// A provider with faults, and a confidential client that has signed in.
    private struct Session {
        let child: CommandTests.Child
        let issuer: String
        private(set) var refreshToken: String

        init(_ options: String...) async throws {
            child = try CommandTests.Child(["--user", "bob:builder", "--client", "app:secret"] + options)
            issuer = String(child.firstLine().dropLast())
            let response = try await Wire.post(
                issuer + "/token",
                [
                    ("grant_type", "password"), ("username", "bob"), ("password", "builder"),
                    ("scope", "openid offline_access"), ("client_id", "app"), ("client_secret", "secret"),
                ])
            refreshToken = try #require(response.json?["refresh_token"]?.string)
        }

        mutating func refresh() async throws -> Wire.Response {
            let response = try await Wire.post(
                issuer + "/token",
                [
                    ("grant_type", "refresh_token"), ("refresh_token", refreshToken), ("client_id", "app"),
                    ("client_secret", "secret"),
                ])
            refreshToken = response.json?["refresh_token"]?.string ?? refreshToken
            return response
        }
    }

    @Test func `without a place it is each refresh, and the sign-in is left alone`() async throws {
        var session = try await Session("--fault", "invalid-grant")
        for _ in 0..<2 {
            let response = try await session.refresh()
            #expect(response.status == 400 && response.json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `it ends after so many requests, and the next one follows`() async throws {
        var session = try await Session("--fault", "unavailable:2", "--fault", "html-page@refresh:1")
        for _ in 0..<2 {
            let response = try await session.refresh()
            #expect(response.status == 503 && response.header("Retry-After") == "5")
        }
        #expect(try await session.refresh().header("Content-Type") == "text/html; charset=utf-8")
        #expect(try await session.refresh().json?["access_token"] != nil)
    }

    /// RFC 9700 §4.14.2: without a grace period the token is used up with the response that never came.
    @Test func `a refresh whose response is lost was processed`() async throws {
        var rotating = try await Session("--fault", "lost-response:1", "--grace-period", "0")
        #expect(try await rotating.refresh().bytes.isEmpty)
        #expect(try await rotating.refresh().json?["error"]?.string == "invalid_grant")
        var other = try await Session("--fault", "lost-response:1", "--no-rotation")
        #expect(try await other.refresh().bytes.isEmpty)
        #expect(try await other.refresh().status == 200)
    }

    @Test func `by default, a used refresh token is accepted for some seconds more`() async throws {
        var session = try await Session("--fault", "lost-response:1")
        #expect(try await session.refresh().bytes.isEmpty)
        #expect(try await session.refresh().status == 200)
    }

    @Test func `a token response can lack its ID token`() async throws {
        var session = try await Session("--fault", "no-id-token:1")
        let first = try await session.refresh()
        #expect(first.status == 200 && first.json?["id_token"] == nil)
        #expect(try await session.refresh().json?["id_token"] != nil)
    }

    @Test(arguments: [
        ("discovery", "/.well-known/openid-configuration"), ("keys", "/jwks"), ("authorization", "/authorize"),
        ("token", "/token"), ("userinfo", "/userinfo"), ("device-authorization", "/device_authorization"),
        ("revocation", "/revoke"), ("end-session", "/end_session"), ("api", "/api/echo"),
    ])
    func `it is at the endpoint that it names, and at no other`(place: String, path: String) async throws {
        let child = try CommandTests.Child(["--fault", "too-many-requests@\(place):1"])
        let issuer = child.firstLine().dropLast()
        #expect(try await Wire.send("GET", issuer + "/elsewhere").status == 404)
        #expect(try await Wire.send("GET", issuer + path).status == 429)
        #expect(try await Wire.send("GET", issuer + path).status != 429)
    }

    @Test(arguments: [
        ("nonsense", "'nonsense'. There are: slow, drip, cut-off"), ("", "''. There are: slow"),
        ("slow@nowhere", "'nowhere'. There are: refresh, token"), ("slow@", "''. There are: refresh"),
    ])
    func `an unknown name is wrong usage, and the known ones are listed`(argument: String, words: String) throws {
        let child = try CommandTests.Child(["--fault", argument])
        #expect(child.end() == 2)
        #expect(child.rest(child.output).isEmpty)
        let errors = child.rest(child.errors)
        #expect(errors.contains(words), "\(errors)")
    }

    @Test func `the help lists every name`() throws {
        let child = try CommandTests.Child(["--help"])
        let help = child.rest(child.output)
        #expect(child.end() == 0)
        for name in [
            "slow", "lost-response", "invalid-grant", "no-refresh-token", "device-authorization",
            "--fault lost-response:1 --grace-period 0", "--fault unavailable:2 --fault invalid-grant:1",
        ] {
            #expect(help.contains(name), "\(help)")
        }
    }
}
