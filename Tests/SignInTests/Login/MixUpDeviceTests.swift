import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// A resource names an authorization server of its owner, which tries to obtain the code for a device of an honest provider.
@Suite(.timeLimit(.minutes(5)))
struct MixUpDeviceTests {
    @Test(arguments: ["login", "device"], [true, false])
    func `no client is registered before the one question`(command: String, isAllElsewhere: Bool) async throws {
        try await withHostileResource { fixture, url, honest in
            let page = JSON.string(honest.url(command == "login" ? .authorization : .deviceAuthorization))
            let registration = honest.url(.clientRegistration)
            fixture.provider.fault(
                .editDocument { document in
                    document[command == "login" ? "authorization_endpoint" : "device_authorization_endpoint"] = page
                    if isAllElsewhere { document["registration_endpoint"] = .string(registration) }
                }, at: .openIDConfiguration, times: nil)
            let line = [command, "--json", "--timeout", "30", "--resource", url]
            let message = try await fixture.start(line).outcome().failure(1, "confirmation_required")
            #expect(message.contains(host(of: honest.issuer)), "\(message)")
            #expect(honest.log.isEmpty && fixture.provider.count(.clientRegistration) == 0)
            #expect(fixture.stored.isEmpty)

            let terminal = try Pseudoterminal()
            let options = command == "login" ? ["--no-browser"] : []
            let process = try fixture.start(line + options, input: terminal.input)
            _ = try await process.line { $0.hasPrefix("  other servers: ") }
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            _ = try await process.line { $0.hasPrefix("Registered") }
            if command == "login" {
                #expect(try await Redirects(process).url.hasPrefix(honest.url(.authorization)))
                process.send(SIGINT)
            }
            let outcome = try await process.outcome()
            #expect(outcome.errorLines.filter { $0.contains("Sign in?") }.count == 1, "\(outcome)")
        }
    }

    /// RFC 8628 §4 registers the endpoint in the metadata of RFC 8414.
    @Test(arguments: [true, false])
    func `an endpoint for devices that only the document of RFC 8414 has is asked about and used`(isElsewhere: Bool)
        async throws
    {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            fixture.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            if isElsewhere {
                fixture.provider.fault(
                    .editDocument { $0["device_authorization_endpoint"] = "http://127.0.0.2:9/device" },
                    at: .oauthMetadata, times: nil)
            }
            let process = try fixture.start(["device", "--json", "--resource", fixture.provider.url(.api)])
            guard isElsewhere else {
                try await DeviceCode(process).decide("allow")
                _ = try await process.outcome().result()
                return
            }
            let message = try await process.outcome().failure(1, "confirmation_required")
            #expect(message.contains("uses 127.0.0.2:9"), "\(message)")
            #expect(fixture.provider.count(.clientRegistration) == 0)
        }
    }

    @Test(arguments: ["device_authorization_endpoint", "token_endpoint"], [true, false])
    func `no code for a device leads to another provider`(endpoint: String, isPromised: Bool) async throws {
        try await withHostileResource {
            $0.sendsIssuerParameter = isPromised
        } _: { fixture, url, honest in
            let other = honest.url(endpoint == "token_endpoint" ? .token : .deviceAuthorization)
            fixture.provider.fault(
                .editDocument { $0[endpoint] = .string(other) }, at: .openIDConfiguration, times: nil)
            let line = ["device", "--json", "--timeout", "30", "--resource", url, "--client-id", "demo"]
            let message = try await fixture.start(line).outcome().failure(1, "confirmation_required")
            let hosts = [fixture.issuer, honest.issuer].map(host(of:))
            #expect(hosts.allSatisfy(message.contains), "\(message)")
            #expect(honest.log.isEmpty && fixture.provider.count(.deviceAuthorization) == 0)

            let terminal = try Pseudoterminal()
            let process = try fixture.start(line, input: terminal.input)
            let servers = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(servers.contains(hosts[1]), "\(servers)")
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            if endpoint == "token_endpoint" {
                _ = try await DeviceCode(process)
                process.send(SIGINT)
            }
            // The honest provider does not know the resource.
            let outcome = try await process.outcome()
            #expect(outcome.status == (endpoint == "token_endpoint" ? 130 : 1), "\(outcome)")
            #expect(honest.count(.deviceAuthorization) == (endpoint == "token_endpoint" ? 0 : 1))
        }
    }

    @Test func `the code that the user requests instead of the browser needs an agreement of its own`() async throws {
        try await withHostileResource {
            $0.sendsIssuerParameter = true
        } _: { fixture, url, honest in
            let other = honest.url(.deviceAuthorization)
            fixture.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = .string(other) }, at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(
                ["login", "--json", "--timeout", "60", "--no-browser", "--resource", url], input: terminal.input)
            _ = try await process.line { $0.hasPrefix("Or press d") }
            try await terminal.wait(for: .bytes)
            terminal.type("d\n")
            let servers = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(servers.contains(host(of: honest.issuer)), "\(servers)")
            try await terminal.wait(for: .bytes)
            terminal.type("\n")
            let message = try await process.outcome().failure(1, "confirmation_required")
            #expect(try commandLine(in: message).hasPrefix("sign-in device "), "\(message)")
            #expect(honest.log.isEmpty)
        }
    }

    @Test func `a step-up in the browser needs an agreement that a session of a device did not need`() async throws {
        try await withHostileResource { fixture, url, _ in
            let login = ["--json", "--resource", url, "--client-id", "demo", "--scope", "profile offline_access"]
            let device = try fixture.start(["device"] + login)
            try await DeviceCode(device).decide("allow")
            _ = try await device.outcome().result()
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="api""#]), at: .api)
            let message = try await fixture.run("request", "GET", url, "--step-up", "--json")
                .failure(1, "confirmation_required")
            #expect(fixture.browser.visits.isEmpty)
            let again = try fixture.start(["sh", "-c", "exec " + commandLine(in: message) + " --json"], [])
            try await DeviceCode(again).decide("allow")
            #expect(try await again.outcome().result()["scope"]?.string?.contains("api") == true)
        }
    }
}
