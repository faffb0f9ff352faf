import AppAuthTestProvider
import Foundation
import JOSE
import TestFixtures
import Testing

/// A desk with an API below `/v1/`, which accepts the living tokens of the provider.
struct ProxyDesk {
    let fixture: CommandFixture
    let api: RawServer
    let port = freePort()
    /// Signalled when the stream of events may end.
    let mayEnd: DispatchSemaphore

    static func run(_ body: (ProxyDesk) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "my-app", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try FileManager.default.createDirectory(
                atPath: fixture.home + "/runtime", withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
            let mayEnd = DispatchSemaphore(value: 0)
            let api = try RawServer { [provider = fixture.provider] connection in
                while true {
                    let request = try connection.readRequest()
                    let token = request.values("Authorization").first?.split(separator: " ").last
                    guard let token, provider.isAlive(String(token)) else {
                        return try connection.reply("401 ", [#"WWW-Authenticate: Bearer error="invalid_token""#])
                    }
                    if request.line.hasPrefix("GET /v1/events ") {
                        try connection.send("HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
                        mayEnd.wait()
                        try connection.send("0\r\n\r\n")
                    } else {
                        try connection.reply(body: #"{"sub":"alice"}"#)
                    }
                }
            }
            defer {
                mayEnd.signal()
                api.stop()
            }
            try await body(ProxyDesk(fixture: fixture, api: api, mayEnd: mayEnd))
        }
    }

    func blocks(below heading: String) throws -> [String] {
        try TestFixtures.blocks(
            below: heading, of: "ProgramsThatCannotSignIn",
            at: [
                "https://accounts.example.org": fixture.issuer, "https://api.example.org": "http://\(api.authority)",
                "8001": "\(port)",
            ])
    }

    /// Runs a block that starts the proxy, until it listens. The process is the proxy's.
    func serve(_ block: String) async throws -> ChildProcess {
        let process = try ChildProcess(
            ["sh", "-e", "-c", block.replacing("sign-in proxy", with: "exec sign-in proxy")],
            environment: fixture.environment)
        _ = try await process.outputLine { $0.hasPrefix("http://127.0.0.1:") || $0.hasSuffix("/work-api") }
        return process
    }

    func output(_ words: [String]) async throws -> String {
        let outcome = try await ChildProcess(words, environment: fixture.environment).outcome()
        #expect(outcome.status == 0, "\(outcome)")
        return outcome.output
    }
}

/// Sends a request with curl, and returns the status and the body of the response.
func curl(_ fixture: CommandFixture, _ arguments: String...) async throws -> (status: Int?, body: JSON?) {
    let outcome = try await ChildProcess(
        ["curl", "-s", "-w", "\n%{http_code}"] + arguments, environment: fixture.environment
    ).outcome()
    let end = try #require(outcome.output.lastIndex(of: "\n"))
    let status = Int(outcome.output[end...].dropFirst())
    return (status, try? JSON(parsing: Array(outcome.output[..<end].utf8)))
}
