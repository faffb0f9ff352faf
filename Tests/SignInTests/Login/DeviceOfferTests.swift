import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The last rung: a code for another device, where no browser was started and the provider has that flow.
@Suite(.timeLimit(.minutes(5)))
struct DeviceOfferTests {
    @Test func `on a terminal, d and Enter switch from the redirect to a code`() async throws {
        try await withDesk(.device) { fixture in
            let terminal = try Pseudoterminal()
            let arguments = fixture.loginArguments(["--userinfo", "--scope", "openid email"])
            let process = try fixture.start(arguments, ["BROWSER": "no-such-browser"], input: terminal.input)
            let redirects = try await Redirects(process)
            _ = try await process.line {
                $0 == "Or press d and Enter for a code that you enter in a browser on any other device."
            }
            try await terminal.wait(for: .bytes)
            terminal.type("d\n")
            let shown = try await DeviceCode(process)
            #expect(await redirects.isClosed())
            #expect(terminal.mode == .lines)
            try await shown.decide("allow")
            let result = try await process.outcome().result()
            #expect(result["scope"]?.string == "openid email")
            #expect(result["userinfo"]?["email"]?.string == "alice@example.com")
            #expect(fixture.provider.count(.openIDConfiguration) == 1 && fixture.stored.count == 1)
        }
    }

    @Test func `what was typed before the offer does not accept it`() async throws {
        try await withDesk(.device) { fixture in
            let terminal = try Pseudoterminal()
            terminal.type("d\n")
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]), input: terminal.input)
            let redirects = try await Redirects(process)
            _ = try await process.line { $0.hasPrefix("Or press d") }
            try await terminal.wait(for: .bytes)
            // A line that is no answer ends what the process has read.
            terminal.type("x\n")
            _ = try await process.line { $0.hasPrefix("That address can’t be used: ") }
            try await redirects.signIn()
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.deviceAuthorization) == 0)
        }
    }

    @Test func `after the switch, signals and the timeout end the wait`() async throws {
        try await withDesk(.device) { fixture in
            for (signal, arguments, code) in [(SIGINT, [], "interrupted"), (0, ["--timeout", "10"], "timeout")]
                as [(CInt, [String], String)]
            {
                let terminal = try Pseudoterminal()
                let process = try fixture.start(
                    fixture.loginArguments(["--no-browser"] + arguments), input: terminal.input)
                _ = try await process.line { $0.hasPrefix("Or press d") }
                try await terminal.wait(for: .bytes)
                terminal.type("d\r")
                _ = try await DeviceCode(process)
                if signal != 0 { process.send(signal) }
                let message = try await process.outcome().failure(signal == SIGINT ? 130 : 1, code)
                #expect(!message.contains("browser"), "\(message)")
                #expect(terminal.mode == .lines && fixture.stored.isEmpty)
            }
        }
    }

    @Test func `without a terminal the exact command is shown, and it works`() async throws {
        try await withDesk(.device) { fixture in
            let folder = fixture.home + "/it's here"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try Data(try #require(RegisteredClient.demoConfidential.secret).utf8)
                .write(to: URL(filePath: folder + "/secret"))
            let process = try fixture.start(
                fixture.loginArguments(
                    [
                        "--no-browser", "--client-secret-file", folder + "/secret", "--client-auth", "post", "--scope",
                        "openid email", "--store", "file:\(folder)/session",
                    ], client: "demo-confidential"))
            _ = try await process.line { $0 == "Or sign in with a code for a browser on any other device:" }
            let line = try await process.line { $0.hasPrefix("  sign-in device") }.trimmed
            process.send(SIGTERM)
            try await process.outcome().failure(1, "terminated")
            #expect(
                line == "sign-in device --issuer \(fixture.issuer) --client-id demo-confidential --client-secret-file "
                    + "'\(fixture.home)/it'\"'\"'s here/secret' --client-auth post --scope 'openid email' --store "
                    + "'file:\(fixture.home)/it'\"'\"'s here/session' --json")

            let device = try fixture.start(["sh", "-c", line], [])
            try await DeviceCode(device).decide("allow")
            #expect(try await device.outcome().result()["scope"]?.string == "openid email")
            #expect(FileManager.default.fileExists(atPath: folder + "/session"))
        }
    }

    @Test func `a secret from a pipe is not read again`() async throws {
        try await withDesk(.device) { fixture in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            let pipe = try fixture.pipe("pipe", bringing: Array(secret.utf8))
            let process = try fixture.start(
                fixture.loginArguments(
                    ["--no-browser", "--client-secret-file", pipe, "--profile", "work"], client: "demo-confidential"))
            let line = try await process.line { $0.hasPrefix("  sign-in device") }.trimmed
            process.send(SIGTERM)
            try await process.outcome().failure(1, "terminated")
            #expect(
                line == "sign-in device --issuer \(fixture.issuer) --client-id demo-confidential "
                    + "--client-secret-file FILE --profile work --json")
        }
    }

    /// The code would carry neither.
    @Test(arguments: [["--param", "audience=https://api.example"], ["--max-age", "60"]])
    func `a sign-in with further parameters offers no code`(options: [String]) async throws {
        try await withDesk(.device) { fixture in
            let process = try fixture.start(fixture.loginArguments(["--no-browser"] + options))
            let redirects = try await Redirects(process)
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("any other device"))
        }
    }

    @Test func `without a device endpoint the code is not offered, and d is a wrong paste`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = nil }, at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(fixture.loginArguments(["--no-browser"]), input: terminal.input)
            let redirects = try await Redirects(process)
            try await terminal.wait(for: .bytes)
            terminal.type("d\n")
            _ = try await process.line { $0.hasPrefix("That address can’t be used: ") }
            try await redirects.signIn()
            let outcome = try await process.outcome()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("any other device"))
        }
    }

    @Test func `the code is not offered if a browser was started`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.login()
            _ = try outcome.result()
            #expect(!outcome.errors.contains("device"))
        }
    }
}
