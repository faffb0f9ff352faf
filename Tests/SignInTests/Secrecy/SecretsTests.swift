import AppAuth
import AppAuthConcurrency
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// No token, code, secret, verifier or password is printed or is in an argument list.
@Suite(.timeLimit(.minutes(5)))
struct SecretsTests {
    private static let clientSecret = "s3cret: 100% äß+/= and thirty-two"

    @Test func `a whole session with full logging shows no secret`() async throws {
        let issued = LockedValue<Set<String>>([])
        try await withDesk { fixture in
            let file = fixture.home + "/secret"
            try Self.clientSecret.write(toFile: file, atomically: true, encoding: .utf8)
            let record = Fault.editDocument { document in
                for name in ["access_token", "refresh_token", "id_token"] {
                    if let token = document[name]?.string { issued.withLock { _ = $0.insert(token) } }
                }
            }
            fixture.provider.fault(record, at: .token, times: nil)
            let login = fixture.loginArguments(
                ["--verbose", "--userinfo", "--client-secret-file", file], client: "demo-confidential")
            var outcomes = [try await fixture.start(login).outcome()]
            for command in [
                ["userinfo", "--verbose"], ["request", "GET", fixture.provider.url(.api), "--verbose"],
                ["status", "--verbose"], ["token", "--verbose", "--force-refresh"], ["logout", "--verbose"],
            ] {
                outcomes.append(try await fixture.start(command).outcome())
            }
            for outcome in outcomes { #expect(outcome.status == 0, "\(outcome)") }
            for step in ["discovery: GET", "authorization:", "redirect:", "token: POST", "keys: GET", "store:"] {
                #expect(outcomes[0].errors.contains(": \(step)"), "\(step) in \(outcomes[0])")
            }
            #expect(outcomes[5].errors.contains(": revocation: POST") && outcomes[5].errors.contains(": store:"))

            let forms = fixture.provider.log(.token).map(\.form)
            var secrets = issued.withLock { $0 }
            #expect(secrets.count == 6)
            for name in ["code", "code_verifier"] { secrets.insert(try #require(forms.first?[name])) }
            let asked = try #require(fixture.provider.log(.authorization).first?.query)
            let states = try ["state", "nonce", "code_challenge"].map { try #require(asked[$0]) }
            secrets.formUnion([Self.clientSecret, "looking-glass"])
            // This command exists to print it.
            #expect(issued.withLock { $0 }.contains(outcomes[4].output.trimmingCharacters(in: .newlines)))
            let shown = outcomes.enumerated().map { $0 == 4 ? $1.errors : $1.output + $1.errors }.joined()
            let arguments = fixture.browser.visits.joined().joined(separator: "\n")
            for secret in secrets {
                #expect(!shown.contains(secret) && !arguments.contains(secret), "\(secret) is shown")
            }
            // The user sees these in the authorization URL; other users see only arguments.
            for state in states { #expect(!arguments.contains(state), "\(state) is an argument") }
        }
    }

    @Test func `core dumps are off`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(
                ["sh", "-c", #"ulimit -c unlimited; exec "$0" "$@""#, "sign-in"],
                fixture.loginArguments(["--no-browser"]))
            _ = try await Redirects(process)
            #expect(Processes.limit("Max core file size", of: process.id)?.first == "0")
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }
}
