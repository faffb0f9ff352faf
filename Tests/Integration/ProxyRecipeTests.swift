import Foundation
import TestFixtures
import Testing

extension Integration {
    /// The recipes of the article "Programs that cannot sign in" that need packages, as they are written there.
    @Suite(.serialized) struct ProxyRecipes {
        @Test func `an MCP client that knows only a URL lists the tools of a protected server`() async throws {
            struct Report: Decodable { let resource: String }
            let server = try HelperProcess(script: "resource_server.py", ["sdk"], in: "venv-resource")
            try await server.beside {
                let resource = try await server.report(Report.self).resource
                let recipe = try Self.blocks(
                    below: "An MCP client that knows only a URL", ["https://mcp.example.org/mcp": resource])
                try await Self.serving(recipe[0]) {
                    let python = Places.cache.appending(path: "venv-resource/bin/python")
                    let client = try await Program(executable: python).run(["-c", recipe[1]])
                    #expect(client.status == 0 && client.output == "['read_notes']\n", "\(client)")
                }
            }
        }

        @Test func `a page of an allowed origin reads the API, and no other one`() async throws {
            let api = try RawServer { connection in
                while true {
                    let hasToken = try connection.readRequest().values("Authorization").count == 1
                    try connection.reply(hasToken ? "200 " : "401 ", body: #"{"sub":"alice"}"#)
                }
            }
            defer { api.stop() }
            let page = try Self.blocks(below: "A web page of yours", [:])[1]
            let pages = try RawServer { connection in
                while true {
                    try connection.readRequest()
                    try connection.reply("200 ", ["Content-Type: text/html"], body: page)
                }
            }
            defer { pages.stop() }
            let provider = try HelperProcess(
                Places.program("local-provider"), ["--exit-with-stdin", "--client", "my-app"])
            try await provider.beside {
                let places: KeyValuePairs = try await [
                    "https://accounts.example.org": provider.line(),
                    "https://api.example.org": "http://\(api.authority)",
                    "http://127.0.0.1:5173": "http://127.0.0.1:\(pages.port)",
                ]
                let login = try Self.blocks(below: "Overview", places)[0].prefix { $0 != "\n" }
                try await Self.serving(login + "\n" + Self.blocks(below: "A web page of yours", places)[0]) {
                    try await RealBrowser.opened(.ordinary(.chromium)) { browser in
                        try await browser.inWindow { window in
                            let tab = try await window.tab()
                            try await tab.open("http://localhost:\(pages.port)/")
                            _ = try await browser.session.event(after: 0) {
                                $0.method == "log.entryAdded" && $0.params.text?.contains("Failed to fetch") == true
                            }
                            #expect(api.requests.isEmpty)
                            try await tab.open("http://127.0.0.1:\(pages.port)/")
                            try await tab.says(#"{"sub":"alice"}"#)
                        }
                    }
                }
            }
        }

        private static let ports = (api: freePort(), resource: freePort())

        private static func blocks(below heading: String, _ places: KeyValuePairs<String, String>) throws -> [String] {
            let own = try TestFixtures.blocks(below: heading, of: "ProgramsThatCannotSignIn", at: places)
            return own.map { $0.replacing("8001", with: "\(ports.api)").replacing("8002", with: "\(ports.resource)") }
        }

        /// Runs `body` beside a block that ends with the proxy, of a user with a browser.
        private static func serving(_ block: String, _ body: () async throws -> Void) async throws {
            let workspace = try Workspace()
            let programs = try Places.program("sign-in").deletingLastPathComponent().path
            let environment = [
                "HOME": workspace.path("home"), "XDG_STATE_HOME": workspace.path("state"), "LANG": "C.UTF-8",
                "PATH": "\(programs):/usr/bin:/bin", "BROWSER": "scripted-browser",
                "SCRIPTED_BROWSER_FORM": "username=alice&password=looking-glass",
            ]
            let script = "\(block.trimmingCharacters(in: .newlines)) &\ncat >/dev/null\nkill $!\nwait"
            let shell = try HelperProcess(
                URL(filePath: "/usr/bin/env"), ["-i"] + environment.map { "\($0)=\($1)" } + ["sh", "-e", "-c", script])
            try await shell.beside {
                _ = try await shell.line { $0.hasPrefix("http://127.0.0.1:") }
                try await body()
            }
        }
    }
}
