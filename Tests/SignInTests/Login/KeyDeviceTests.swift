import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import SoftwareTPM
import TestFixtures
import Testing

/// `--dpop --key-in tpm` (RFC 9449).
@Suite(.timeLimit(.minutes(10)), .enabled(if: SoftwareTPM.isInstalled, "\(SoftwareTPM.packages)"))
struct KeyDeviceTests {
    private static var strict: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].requiresDPoP = true
        return configuration
    }

    @Test func `with --key-in tpm the key of the session stays in the TPM, for several commands at once`() async throws
    {
        try await withDesk(Self.strict) { fixture in
            let tpm = try SoftwareTPM()
            let result = try await fixture.login("--dpop", "--key-in", "tpm", with: tpm.environment).result()
            #expect(result["token_type"]?.string == "DPoP")
            #expect(String(decoding: try fixture.session(), as: UTF8.self).contains("BEGIN TSS2 PRIVATE KEY"))
            for command in [["token", "--force-refresh"], ["userinfo"]] {
                _ = try await fixture.start(command + ["--json"], tpm.environment).outcome().result()
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<6 {
                    group.addTask {
                        let url = fixture.issuer + "/api/echo"
                        let echo = try await fixture.run("request", "GET", url, "--json", with: tpm.environment)
                        #expect(try echo.result()["status"]?.int == 200)
                    }
                }
                try await group.waitForAll()
            }
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let refused = try await fixture.run("token", "--force-refresh", "--json", with: tpm.environment)
            #expect(try refused.failure(1, "sign_in_required").contains("--dpop --key-in tpm"))
        }
    }

    @Test func `a copy of the session is worth nothing on another machine, and does not disturb the first one`()
        async throws
    {
        try await withDesk(Self.strict) { fixture in
            let (own, other) = (try SoftwareTPM(), try SoftwareTPM())
            _ = try await fixture.login("--dpop", "--key-in", "tpm", with: own.environment).result()
            let copy = fixture.home + "/copy"
            try FileManager.default.copyItem(atPath: fixture.stateHome, toPath: copy)
            let path = "\(copy)/sign-in/\(try #require(fixture.stored.first))"
            var there: [String: String?] = ["XDG_STATE_HOME": copy]
            for (name, value) in other.environment { there[name] = value }

            let sent = fixture.provider.count(.token)
            for _ in 0..<20 {
                let message = try await fixture.run("token", "--force-refresh", "--json", with: there)
                    .failure(1, "unavailable")
                #expect(message.contains("another has made"), "\(message)")
                try CommandFixture.editSession(at: path) { $0["backoff"] = nil }
            }
            for arguments in [["userinfo"], ["request", "GET", fixture.issuer + "/api/echo"]] {
                #expect(try await fixture.start(arguments + ["--json"], there).outcome().status == 1)
            }
            #expect(fixture.provider.count(.token) == sent && fixture.provider.count(.userInfo) == 0)
            #expect(fixture.provider.count(.api) == 0)

            // The refresh token with a key of the thief's own: the server refuses it (RFC 9449 §5).
            try CommandFixture.editSession(at: path) { $0["proofKey"] = try DPoPKey(.es256).stored }
            let refused = try await fixture.run("token", "--force-refresh", "--json", with: there)
            #expect(refused.status == 1 && fixture.provider.count(.token) == sent + 1, "\(refused)")

            _ = try await fixture.run("token", "--force-refresh", "--json", with: own.environment).result()
            let claims = try await fixture.run("userinfo", "--json", with: own.environment).result()
            #expect(claims["sub"]?.string == "248289761001")
        }
    }
}

/// What is missing for `--key-in tpm`, without a TPM.
@Suite(.timeLimit(.minutes(5)))
struct MissingKeyDeviceTests {
    @Test(arguments: [
        (
            ["OPENSSL_MODULES": "/nonexistent", "TPM2OPENSSL_TCTI": "device:/nonexistent"],
            "Install the package tpm2-openssl"
        ),
        (["TPM2OPENSSL_TCTI": "device:/nonexistent"], "OpenSSL's provider 'tpm2' does not start"),
    ])
    func `what is missing is named before the browser opens`(variables: [String: String], what: String) async throws {
        guard what.contains("Install") || SoftwareTPM.isInstalled else { return }
        try await withDesk { fixture in
            let outcome = try await fixture.login("--dpop", "--key-in", "tpm", with: variables)
            #expect(try outcome.failure(1, "unavailable").contains(what), "\(outcome)")
            #expect(outcome.errorLines.count == 1 && fixture.browser.visits.isEmpty, "\(outcome)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test(.enabled(if: access("/dev/tpmrm0", F_OK) != 0, "this machine has a TPM"))
    func `a machine without a TPM is named`() async throws {
        try await withDesk { fixture in
            let message = try await fixture.login("--dpop", "--key-in", "tpm").failure(1, "unavailable")
            #expect(message.contains("there is no /dev/tpmrm0"), "\(message)")
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    @Test(arguments: [["--key-in", "tpm"], ["--dpop", "--key-in", "safe"], ["--dpop", "--key-in"]])
    func `--key-in needs --dpop and the name of a device`(options: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(fixture.loginArguments(options)).outcome().wrongUsage()
        }
    }
}
