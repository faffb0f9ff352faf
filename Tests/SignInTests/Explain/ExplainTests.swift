import AppAuth
import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// `--explain`: each step, for people, without secrets.
@Suite(.timeLimit(.minutes(5)))
struct ExplainTests {
    private static let clientSecret = "s3cret: 100% äß+/= and thirty-two"
    private static let cookie = "a-cookie-of-the-provider"

    @Test func `a whole session shows no secret`() async throws {
        let issued = LockedValue<Set<String>>([])
        try await withDesk { fixture in
            let file = fixture.home + "/secret"
            try Self.clientSecret.write(toFile: file, atomically: true, encoding: .utf8)
            let record = Fault.editDocument { document in
                for name in ["access_token", "refresh_token", "id_token"] {
                    if let token = document[name]?.string { issued.withLock { _ = $0.insert(token) } }
                }
            }
            let setsCookie = Fault.editReply { $0.headers[.setCookie] = "sid=\(Self.cookie); Secure" }
            fixture.provider.fault(.all([record, setsCookie]), at: .token, times: nil)
            var outcomes: [Outcome] = []
            for method in ["basic", "post", "client_secret_jwt"] {
                let options = ["--explain", "--userinfo", "--dpop", "--par", "--client-secret-file", file]
                let login = fixture.loginArguments(options + ["--client-auth", method], client: "demo-confidential")
                outcomes.append(try await fixture.start(login).outcome())
                outcomes.append(try await fixture.run("token", "--explain", "--force-refresh", "--json"))
            }
            let key = try #require(try fixture.record().proofKey)
            for command in [["userinfo"], ["request", "GET", fixture.provider.url(.api)], ["status"], ["logout"]] {
                outcomes.append(try await fixture.start(command + ["--explain"]).outcome())
            }
            for outcome in outcomes { #expect(outcome.status == 0, "\(outcome)") }

            var secrets = issued.withLock { $0 }
            #expect(secrets.count >= 15)
            for request in fixture.provider.log {
                for name in ["code", "code_verifier", "refresh_token", "token", "client_assertion", "client_secret"] {
                    if let value = request.form[name] { secrets.insert(value) }
                }
                for name in ["DPoP", "Authorization"] {
                    let value = HTTPField.Name(name).flatMap { request.headers[$0] }
                    if let word = value?.split(separator: " ").last { secrets.insert(String(word)) }
                }
            }
            let pem = key.pem.reveal().split(separator: "\n").map(String.init)
            secrets.formUnion([Self.clientSecret, Self.cookie, "looking-glass"] + pem)
            let shown = outcomes.map(\.errors).joined()
            for secret in secrets { #expect(!shown.contains(secret), "\(secret) is shown") }
            for kind in [
                "code=[authorization code, ", "code_verifier=[PKCE verifier, ", "access_token: [access token, ",
                "refresh_token=[refresh token, ", "client_secret=[client secret, ", "set-cookie: [cookie, ",
                "authorization: [credentials, ", "dpop: [proof of the DPoP key, ", "sub: [value, ",
            ] { #expect(shown.lowercased().contains(kind.lowercased()), "\(kind) is not in \(shown)") }
        }
    }

    @Test func `a pushed request, a sign-out and the questions of doctor are explained as what they are`() async throws
    {
        try await withDesk { fixture in
            let login = try await fixture.login("--explain", "--par")
            _ = try login.result()
            let doctor = try await fixture.run("doctor", "--explain")
            let logout = try await fixture.run("logout", "--explain")
            let text = (login.errorLines + doctor.errorLines + logout.errorLines)
                .map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
            for step in [
                "the browser takes only the reference to it there", "RFC 9126 §4",
                "Asks for the head of an endpoint, to find out whether it responds. (RFC 9110 §9.3.2)",
                "the token is not valid any more, or never was",
                "[logout] The browser asks the provider to end the session",
                "RP-Initiated Logout §2", "[logout] the browser came back with the state of this sign-out",
            ] { #expect(text.contains(step), "\(step) is not in \(text)") }
            let isTimed = text.replacing(" | ", with: " ").contains("RP-Initiated Logout §3), after ")
            #expect(isTimed, "\(text)")
            #expect(!text.contains("The browser takes this request"))
        }
    }

    @Test func `each step has its purpose, its section, its time and its checks`() async throws {
        try await withDesk { fixture in
            let login = try await fixture.login("--explain", "--userinfo")
            _ = try login.result()
            let refresh = try await fixture.run("token", "--explain", "--force-refresh", "--json")
            _ = try refresh.result()
            let text = (login.errorLines + refresh.errorLines).map { $0.trimmingCharacters(in: .whitespaces) }
                .joined(separator: " ")
            for step in [
                "[discovery] Asks the provider", "OpenID Connect Discovery §4",
                "must name exactly the requested issuer",
                "[authorization] The browser takes this request", "code_challenge=[PKCE challenge, 43 characters]",
                "[redirect] received the response to this request: its state is the one",
                "[token] Exchanges the code for tokens", "RFC 6749 §4.1.3", ">   grant_type=authorization_code",
                "[keys] Gets the public keys", "[idToken] it is signed by the provider (RS256), for this client",
                "[userInfo] Gets the user’s claims", "[refresh] Exchanges the refresh token", "RFC 6749 §6",
                "and about the same user",
            ] { #expect(text.contains(step), "\(step) is not in \(text)") }
            #expect(text.contains(/< 200 for POST http:\/\/[^ ]+\/token: \d+ bytes, after \d+ ms/), "\(text)")
            for section in ["RFC 6749 §4.1.2, §10.12", "OpenID Connect Core §3.1.3.7", "RFC 8252 §7.3"] {
                let isTimed = text.replacing(" | ", with: " ").contains("\(section)), after ")
                #expect(isTimed, "\(section): \(text)")
            }
        }
    }

    @Test func `a response that fails is shown, without control characters`() async throws {
        try await withDesk { fixture in
            let refusal = Fault.status(
                .badRequest, json: ["error": "invalid_grant", "error_description": "the code\u{1B}[31m is over"])
            fixture.provider.fault(refusal, at: .token)
            let outcome = try await fixture.login("--explain")
            try outcome.failure(1, "invalid_grant")
            #expect(outcome.errors.contains("< 400 for POST") && outcome.errors.contains("error: invalid_grant"))
            #expect(!outcome.errors.contains("\u{1B}"), "\(outcome)")
        }
    }

    /// Users paste URLs into shells, and a run of blanks would end the terminal's row.
    @Test func `a URL with a query of the server is shown encoded, and no text of it begins a row`() async throws {
        try await withDesk { fixture in
            let row = String(repeating: "%20", count: 60) + "sign-in:%20repaired"
            let query = "scope=x%3Btouch%20FILE&a%3Bb=secret&PATH=/tmp&&ui_locales=\(row)"
            let endpoint = fixture.provider.url(.token)
            fixture.provider.fault(
                .editDocument { document in
                    document["token_endpoint"] = .string("\(endpoint)?\(query)")
                    let page = document["authorization_endpoint"]?.string ?? ""
                    document["authorization_endpoint"] = .string("\(page)?ui_locales=x\(row)")
                }, at: .openIDConfiguration, times: nil)
            let outcome = try await fixture.login("--explain")
            let shown =
                "/token?scope=x%3Btouch%20FILE&%61%3Bb=[value,-6-characters]&PATH=[value,-4-characters]&%75i_locales="
            #expect(outcome.errors.contains(shown), "\(outcome)")
            #expect(!outcome.errors.contains("  sign-in: repaired"), "\(outcome)")
            #expect(outcome.errors.contains("x sign-in: repaired"), "\(outcome)")
        }
    }

    /// RFC 6749 §2.3.1: it is form-encoded, and then in Base64.
    @Test func `a secret that the server repeats in plain text is not shown`() async throws {
        try await withDesk { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            let file = fixture.home + "/secret"
            try secret.write(toFile: file, atomically: true, encoding: .utf8)
            for echo in [secret, FormParameters.encode(secret)] {
                let words: JSON = ["error": "invalid_client", "error_description": .string("wrong: \(echo)")]
                fixture.provider.fault(.status(.unauthorized, json: words), at: .token)
                let line = ["--explain", "--client-secret-file", file, "--client-auth", "basic"]
                let outcome = try await fixture.start(fixture.loginArguments(line, client: "demo-confidential"))
                    .outcome()
                try outcome.failure(1, "invalid_client")
                #expect(outcome.errors.contains("error_description: wrong: "), "\(outcome)")
                #expect(!outcome.errors.contains(echo), "\(outcome)")
            }
        }
    }

    @Test func `a request that gets no response is explained too`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("discover", "http://127.0.0.1:1", "--explain", "--json")
            try outcome.failure(1, "transport")
            #expect(
                outcome.errors.contains("< no response, after ") && outcome.errors.contains("refused"), "\(outcome)")
        }
    }

    @Test func `a profile does not remember it`() async throws {
        try await withDesk { fixture in
            let login = fixture.loginArguments(["--explain", "--profile", "work"])
            _ = try await fixture.start(login).outcome().result()
            let again = try await fixture.run("login", "--profile", "work", "--json")
            _ = try again.result()
            #expect(!again.errors.contains("[discovery]"), "\(again)")
        }
    }
}
