import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// What an error says leads the user on: it is true, and nothing in it makes things worse.
@Suite(.timeLimit(.minutes(5)))
struct ErrorWordsTests {
    @Test(arguments: ["file", "encrypted"])
    func `a folder is no store, and is not set aside`(kind: String) async throws {
        try await withDesk { fixture in
            let folder = fixture.home + "/documents"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let store = ["--store", "\(kind):\(folder)"]
            for command in [
                fixture.loginArguments(["--replace-store"]), ["token", "--json"],
                ["logout", "--json", "--local", "--discard"], ["status", "--json"],
            ] {
                let outcome = try await fixture.start(command + store).outcome()
                #expect(outcome.status == 1, "\(outcome)")
                #expect(outcome.errors.contains("\(kind):\(folder)/session.json") && !outcome.errors.contains("aside"))
                #expect(FileManager.default.fileExists(atPath: folder))
            }
            let file = "file:\(folder)/session.json"
            _ = try await fixture.login("--profile", "work", "--store", file).result()
            // The path that a profile remembers is no other.
            try FileManager.default.removeItem(atPath: folder + "/session.json")
            try FileManager.default.createDirectory(
                atPath: folder + "/session.json/inside", withIntermediateDirectories: true)
            let outcome = try await fixture.run("token", "--profile", "work")
            #expect(outcome.status == 1 && !outcome.errors.contains("aside"), "\(outcome)")
        }
    }

    @Test func `no URL is proposed for one that the provider names`() async throws {
        try await withDesk(.device) { fixture in
            let relative = Fault.editDocument { $0["device_authorization_endpoint"] = "/device" }
            for endpoint in [.openIDConfiguration, .oauthMetadata] as [Endpoint] {
                fixture.provider.fault(relative, at: endpoint, times: nil)
            }
            let device = ["device", "--issuer", fixture.issuer, "--client-id", "demo"]
            let message = try await fixture.start(device + ["--json"]).outcome().failure(1, "invalid_metadata")
            #expect(message.contains("found '/device': it does not begin with https://") && !message.contains("Use '"))
            // A typed one is.
            let typed = try await fixture.start(["discover", "op.example/device", "--json"]).outcome()
            #expect(try typed.json()["error"]?["message"]?.string?.contains("Use 'https://op.example/device'") == true)
        }
    }

    @Test func `with the name of a profile, a client needs an issuer too`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            for command in ["login", "device"] {
                func usage(_ profile: String) async throws -> String {
                    try await fixture.start([command, "--profile", profile, "--client-id", "other", "--json"]).outcome()
                        .wrongUsage()
                }
                let message = try await usage("work")
                #expect(message.contains("--client-id needs --issuer too"), "\(message)")
                #expect(try await usage("home").contains("there is no profile 'home' yet"))
                let line = try #require(message.components(separatedBy: "the profile 'work': ").last)
                _ = try await fixture.start(line.split(separator: " ").dropFirst().map(String.init) + ["--json"])
                    .outcome().result()
            }
        }
    }

    @Test func `no other sign-in is proposed where the client lacks a right`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let refusal = Fault.oauthError("unauthorized_client", .badRequest)
            fixture.provider.fault(refusal, at: .token)
            let message = try await fixture.run("exchange", "--json").failure(1, "unauthorized_client")
            #expect(!message.contains("sign-in login"), "\(message)")
            // At a refresh, the provider may have changed the client.
            fixture.provider.fault(refusal, at: .token)
            let refresh = try await fixture.run("token", "--json", "--force-refresh").failure(1, "unauthorized_client")
            #expect(refresh.contains("sign in with: sign-in login"), "\(refresh)")
        }
    }

    @Test func `403 from userinfo does not claim a refresh that was not sent`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.status(.forbidden), at: .userInfo, times: nil)
            let message = try await fixture.run("userinfo", "--json").failure(1, "invalid_response")
            #expect(message.contains("it refuses the token as it is") && !message.contains("new access token"))
            #expect(fixture.provider.count(.token) == 1)
        }
    }
}
