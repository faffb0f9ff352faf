import AppAuth
import AppAuthTestProvider
import Foundation
import ScriptedBrowser
import TestFixtures
import Testing

extension Integration {
    /// RFC 9728, at the servers of the packages mcp and fastmcp.
    @Suite(.serialized) struct ProtectedResources {
        @Test(arguments: ["sdk", "fastmcp"])
        func `a user signs in by pasting, calls the resource, refreshes and signs out`(server: String) async throws {
            try await ResourceUser.at([server]) { user in
                let session = try await user.pastes()
                #expect(session.scope == "notes:read" && session.hasRefreshToken)
                #expect(try await user.calls() == 200)
                #expect(try await user.run(["token", "--force-refresh"]).status == 0)
                #expect(try await user.calls() == 200)
                // The second sign-in is as the same client.
                #expect(try await user.pastes().clientID == session.clientID)
                // Neither server has clients without a secret, and the secret comes from the registration.
                let logout = try await user.run(["logout", "--revoke-only"]).json(SignIn.Logout.self)
                #expect(logout.revoked == ["refresh_token", "access_token"])
            }
        }

        @Test(arguments: ["sdk", "fastmcp"])
        func `a token for too few scopes is refused, and another sign-in brings the others`(server: String) async throws
        {
            try await ResourceUser.at([server]) { user in
                _ = try await user.pastes("--scope", "notes:write")
                let refused = try await user.request()
                #expect(refused.status == 1)
                #expect(try refused.json(ResourceUser.Response.self).status == 403)
                #expect(refused.errors.contains("repeat this command with --step-up"))
                let repeated = try await user.request("--step-up")
                #expect(try repeated.json(ResourceUser.Response.self).status == 200)
                #expect(try await user.calls() == 200)
            }
        }

        @Test func `at another authorization server, a user signs in by pasting or on another device`() async throws {
            let port = String(freePort())
            var configuration = LocalProvider.Configuration.demo
            configuration.devicePollingInterval = 1
            configuration.resources = ["http://127.0.0.1:\(port)/mcp"]
            configuration.clients.append(RegisteredClient(id: "notes", secret: "of-the-notes", grantTypes: []))
            try await withLocalProvider(configuration) { provider in
                try await ResourceUser.at(["remote", provider.issuer, port]) { user in
                    let session = try await user.pastes()
                    #expect(session.issuer == provider.issuer && session.scope == "offline_access api")
                    #expect(try await user.calls() == 200)
                    let device = try await user.entersCode()
                    #expect(device.clientID == session.clientID && device.hasRefreshToken)
                    #expect(try await user.calls() == 200)
                    let resources = provider.log(.token).map { $0.form.values("resource") }
                    #expect(resources.allSatisfy { $0 == configuration.resources })
                }
            }
        }
    }
}

/// A user of the command, whose browser runs on another machine.
private struct ResourceUser {
    let resource: String
    let workspace: Workspace

    private struct Report: Decodable { let resource: String }
    struct Response: Decodable { let status: Int }
    /// The result of a sign-in without an ID token.
    struct Session: Decodable {
        let issuer: String
        let clientID: String
        let scope: String
        let hasRefreshToken: Bool

        enum CodingKeys: String, CodingKey {
            case issuer, scope
            case clientID = "client_id"
            case hasRefreshToken = "has_refresh_token"
        }
    }

    /// Starts a resource, with these arguments of its script.
    static func at(_ server: [String], _ body: (ResourceUser) async throws -> Void) async throws {
        let helper = try HelperProcess(script: "resource_server.py", server, in: "venv-resource")
        try await helper.beside {
            try await body(ResourceUser(resource: helper.report(Report.self).resource, workspace: Workspace()))
        }
    }

    private var store: [String] { ["--store", "file:\(workspace.path("session"))", "--json", "--timeout", "60"] }
    private var browser: ScriptedBrowser {
        let entries = ["username": "alice", "password": "looking-glass"]
        return ScriptedBrowser(transport: CurlTransport(.init(proxy: .none)), entries: entries)
    }

    /// Starts a sign-in, with both outputs in one.
    private func starts(_ command: String, _ options: [String]) throws -> HelperProcess {
        let program = try Places.program("sign-in").path
        return try HelperProcess(
            URL(filePath: "/usr/bin/env"),
            ["XDG_STATE_HOME=\(workspace.folder.path)", "sh", "-c", #"exec "$0" "$@" 2>&1"#, program, command]
                + ["--resource", resource] + store + options)
    }

    func pastes(_ options: String...) async throws -> Session {
        let process = try starts("login", ["--no-browser"] + options)
        return try await process.beside {
            let url = try await process.line { $0.hasPrefix("  http") }.trimmingCharacters(in: .whitespaces)
            let items = URLComponents(string: url)?.queryItems ?? []
            #expect(items.first { $0.name == "resource" }?.value == resource)
            let redirect = try #require(items.first { $0.name == "redirect_uri" }?.value)
            process.write(try await browser.address(from: url, upTo: redirect) + "\n")
            return try await process.session()
        }
    }

    func entersCode() async throws -> Session {
        let process = try starts("device", [])
        return try await process.beside {
            let url = try await process.line { $0.contains("user_code=") }.trimmingCharacters(in: .whitespaces)
            try await browser.visit(url)
            return try await process.session()
        }
    }

    func run(_ arguments: [String]) async throws -> Program.Outcome {
        var program = try Program(executable: Places.program("sign-in"))
        // By its name: a path in BROWSER has no spaces.
        let browser = try Places.program("scripted-browser")
        let folders = program.environment["PATH"] ?? "/usr/bin:/bin"
        program.environment["BROWSER"] = browser.lastPathComponent
        program.environment["PATH"] = browser.deletingLastPathComponent().path + ":" + folders
        return try await program.run(arguments + store)
    }

    /// Sends the first request of the protocol that the resource speaks.
    func request(_ options: String...) async throws -> Program.Outcome {
        let body = #"""
            {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},
            "clientInfo":{"name":"sign-in","version":"1"}}}
            """#
        let fields = ["Accept: application/json, text/event-stream", "Content-Type: application/json"]
        return try await run(
            ["request", "POST", resource, "--data", body] + fields.flatMap { ["--header", $0] } + options)
    }

    func calls() async throws -> Int { try await request().json(Response.self).status }
}

extension HelperProcess {
    /// The next line that is meant.
    func line(_ isMeant: (String) -> Bool) async throws -> String {
        var seen: [String] = []
        while true {
            let line: String
            do { line = try await self.line() } catch { throw SetupFailure("\(error) Its lines: \(seen)") }
            if isMeant(line) { return line }
            seen.append(line)
        }
    }

    fileprivate func session() async throws -> ResourceUser.Session {
        try await JSONDecoder().decode(ResourceUser.Session.self, from: Data(line { $0.hasPrefix("{") }.utf8))
    }
}
