import Foundation
import Testing

/// Proxies that authenticate the user. The library's tests have proxies of each kind.
@Suite(.timeLimit(.minutes(1)))
struct ProxyTests {
    @Test(arguments: [
        ([], ["Basic"]), (["--proxy-auth", "digest"], [nil, "Digest"]), (["--proxy-auth", "ntlm"], ["NTLM"]),
    ])
    func `the proxy of the environment authenticates the user as --proxy-auth says`(
        option: [String], schemes: [String?]
    ) async throws {
        let proxy = try SimpleServer { request in
            let isAuthorized = request.headers["proxy-authorization"] != nil
            guard !isAuthorized else { return SimpleResponse(status: "502 Bad Gateway") }
            let challenge = #"Digest realm="proxy", nonce="abc", qop="auth""#
            return SimpleResponse(
                status: "407 Proxy Authentication Required", headers: [("Proxy-Authenticate", challenge)])
        }
        defer { proxy.stop() }
        try await withDesk { fixture in
            let outcome = try await fixture.start(
                ["discover", "https://server.example", "--json"] + option,
                ["https_proxy": "http://zoe:looking-glass@\(proxy.host)"]
            ).outcome()
            try outcome.failure(1, "transport")
            let sent = proxy.requests.map { $0.headers["proxy-authorization"]?.components(separatedBy: " ").first }
            #expect(sent == schemes, "\(outcome)")
            #expect(proxy.requests.allSatisfy { $0.method == "CONNECT" && $0.target == "server.example:443" })
        }
    }

    @Test func `if the proxy does not authenticate the user, the error names --proxy-auth, which helps`() async throws {
        let proxy = try SimpleServer { request in
            let isDigest = request.headers["proxy-authorization"]?.hasPrefix("Digest ") == true
            guard !isDigest else { return SimpleResponse(status: "502 Bad Gateway") }
            let challenge = #"Digest realm="proxy", nonce="abc", qop="auth""#
            return SimpleResponse(
                status: "407 Proxy Authentication Required", headers: [("Proxy-Authenticate", challenge)])
        }
        defer { proxy.stop() }
        try await withDesk { fixture in
            func refusal(_ options: String...) async throws -> String {
                try await fixture.start(
                    ["discover", "https://server.example", "--json"] + options,
                    ["https_proxy": "http://zoe:looking-glass@\(proxy.host)"]
                ).outcome().failure(1, "transport")
            }
            let message = try await refusal()
            #expect(message.contains("407") && message.hasSuffix("use --proxy-auth"), "\(message)")
            let after = try await refusal("--proxy-auth", "digest")
            #expect(after.contains("502") && !after.contains("--proxy-auth"), "\(after)")
        }
    }

    @Test func `an unknown kind of authentication is wrong usage`() async throws {
        try await withDesk { fixture in
            try await fixture.run("status", "--json", "--proxy-auth", "kerberos").wrongUsage()
        }
    }
}
