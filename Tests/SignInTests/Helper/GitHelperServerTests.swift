import AppAuth
import AppAuthProtocol
import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// Which servers `sign-in helper git` gives a token for: those that it names, over TLS or on loopback, and there those of no other
/// user.
@Suite(.timeLimit(.minutes(5)))
struct GitHelperServerTests {
    @Test(arguments: [
        ("https", "git.example.org", true), ("https", "GIT.example.org", true), ("http", "127.0.0.1:2", false),
        ("http", "git.example.org", false), ("https", "git.example.org:8443", false), ("https", "example.org", false),
        ("ftp", "git.example.org", false), ("https", "git.example.org.evil.example", false),
        ("https", "git.example.org:443", true), ("https", "port.example.org", true),
        ("https", "port.example.org:444", false), ("https", "git.example.org/a", false),
    ])
    func `only the named servers get the token, and over TLS`(scheme: String, host: String, isGiven: Bool) async throws
    {
        try await withDesk { fixture in
            let login = try await fixture.login("--profile", "work").result()
            let process = try fixture.helper(
                "git",
                [
                    "--host", "git.example.org", "--host", "127.0.0.1:1", "--host", "port.example.org:443", "--profile",
                    "work", "get",
                ],
                input: "protocol=\(scheme)\nhost=\(host)\npath=a\n\n")
            let outcome = try await process.outcome()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            guard isGiven else { return #expect(outcome.output.isEmpty, "\(outcome)") }
            let token = try await fixture.run("token").output.dropLast()
            let expiry = try Date(try #require(login["access_token_expires_at"]?.string), strategy: .iso8601)
            #expect(
                outcome.outputLines == [
                    "username=oauth2", "password=\(token)", "password_expiry_utc=\(Int(expiry.timeIntervalSince1970))",
                ])
        }
    }

    /// What git 2.46 and later send and take.
    @Test(
        arguments: [
            (["wwwauth[]=Bearer realm=\"a\""], true), (["wwwauth[]=bearer"], true),
            (["wwwauth[]=Negotiate, Bearer realm=\"a\""], true),
            (["wwwauth[]=Bearer realm=\"a\"", "wwwauth[]=Basic realm=\"b\""], false),
            (["wwwauth[]=Basic realm=\"Bearer\""], false),
            ([], false), (["wwwauth[]=Bearer"], nil), (["wwwauth[]=Basic", "wwwauth[]=", "wwwauth[]=Bearer"], true),
        ] as [([String], Bool?)])
    func `a server that takes only tokens gets the token as such`(fields: [String], isBearer: Bool?) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let token = try await fixture.run("token").output.dropLast()
            let options = ["--host", "git.example.org", "--profile", "work"]
            // An older git does not say that it can send it.
            let capability = isBearer == nil ? [] : ["capability[]=authtype", "capability[]=state"]
            let request = ["protocol=https", "host=git.example.org"]
            let input = (capability + request + fields + ["", ""]).joined(separator: "\n")
            let given = try await fixture.helper("git", options + ["get"], input: input).outcome()
            let expected =
                isBearer == true
                ? ["capability[]=authtype", "authtype=Bearer", "credential=\(token)"]
                : ["username=oauth2", "password=\(token)"]
            #expect(given.outputLines.dropLast() == expected[...], "\(given)")
            // The server has rejected it.
            let rejected = (request + expected + ["", ""]).joined(separator: "\n")
            #expect(try await fixture.helper("git", options + ["erase"], input: rejected).outcome().status == 0)
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    /// Who may have taken the port of a server that has ended.
    @Test(.enabled(if: geteuid() == 0, "only root can start a server as another user"), arguments: [1999, 999])
    func `a server on loopback that belongs to another user gets no token`(user: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "python3", "-u", "-m"]
            let line = (words + ["http.server", "0", "--bind", "127.0.0.1", "--directory", "/", ">&2"]).joined(
                separator: " ")
            let server = try fixture.start(["sh", "-c", "exec " + line], [])
            defer { server.send(SIGKILL) }
            let ready = try await server.line { $0.hasPrefix("Serving HTTP") }
            let port = try #require(ready.firstMatch(of: /port (\d+)/)?.1)
            let options = ["--host", "127.0.0.1:\(port)", "--profile", "work", "get"]
            for (helper, input) in [
                ("git", "protocol=http\nhost=127.0.0.1:\(port)\n\n"), ("docker", "127.0.0.1:\(port)\n"),
                ("docker", "http://127.0.0.1:\(port)/v2/\n"),
            ] {
                let outcome = try await fixture.helper(helper, options, input: input).outcome()
                let isRefused = outcome.status == 1 && outcome.errors.contains("number \(user)")
                #expect(isRefused == (user == 1999), "\(outcome)")
                if helper == "git" { #expect(outcome.output.isEmpty == isRefused, "\(outcome)") }
                #expect(outcome.output.contains("Secret") == (helper == "docker" && !isRefused), "\(outcome)")
            }
        }
    }

    /// Docker also uses http for every name and notation of this machine.
    @Test(arguments: [
        ("git", "127.0.0.1:1", "protocol=http\nhost=127.0.0.1:1\n\n"), ("docker", "127.0.0.1:1", "127.0.0.1:1\n"),
        ("docker", "127.0.0.1:1", "http://127.0.0.1:1/v2/\n"), ("docker", "127.0.0.1:1", "https://127.0.0.1:1/v2/\n"),
        ("docker", "registry.localhost:1", "registry.localhost:1\n"), ("docker", "localhost.:1", "localhost.:1\n"),
        ("docker", "127.1:1", "127.1:1\n"), ("docker", "0.0.0.0:1", "0.0.0.0:1\n"),
        ("docker", "[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1\n"),
    ])
    func `a server on this machine that does not listen gets no token`(
        helper: String, host: String, input: String
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let options = ["--host", host, "--profile", "work", "get"]
            let outcome = try await fixture.helper(helper, options, input: input).outcome()
            #expect(outcome.status == 1 && outcome.errors.contains("no server listens at "), "\(outcome)")
            #expect(outcome.errors.contains(host), "\(outcome)")
            #expect(!outcome.output.contains("Secret") && !outcome.output.contains("password"), "\(outcome)")
        }
    }

    /// Any user could listen at the other address, which git may try first.
    @Test(arguments: [LoopbackRedirectListener.Host.ipv4, .ipv6, .both])
    func `a server at only one address of localhost gets no token`(address: LoopbackRedirectListener.Host) async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let listener = try LoopbackRedirectListener(host: address)
            defer { listener.close() }
            let host = "localhost:\(try #require(SecureURL(listener.redirectURI).port))"
            let outcome = try await fixture.helper(
                "git", ["--host", host, "--profile", "work", "get"], input: "protocol=http\nhost=\(host)\n\n"
            ).outcome()
            guard address != .both else { return #expect(outcome.output.contains("password="), "\(outcome)") }
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("no server listens at each address of \(host)"), "\(outcome)")
        }
    }

    @Test(arguments: ["git", "docker"])
    func `a server that ends while the token is refreshed gets none`(helper: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try CommandFixture.editSession(at: "\(fixture.sessions)/work.json") { try $0.expire() }
            let listener = try LoopbackRedirectListener()
            fixture.provider.fault(.editDocument { _ in listener.close() }, at: .token)
            let host = "127.0.0.1:\(try #require(SecureURL(listener.redirectURI).port))"
            let input = helper == "git" ? "protocol=http\nhost=\(host)\n\n" : "\(host)\n"
            let outcome = try await fixture.helper(helper, ["--host", host, "--profile", "work", "get"], input: input)
                .outcome()
            #expect(fixture.provider.count(.token) == 2)
            #expect(outcome.status == 1 && outcome.errors.contains("no server listens at \(host)"), "\(outcome)")
            #expect(!outcome.output.contains("Secret") && !outcome.output.contains("password"), "\(outcome)")
        }
    }

    /// Git asks for the token after the server's answer, and sends it on the connection that it has.
    @Test(.enabled(if: geteuid() == 0, "only root can start a server as another user"), arguments: [1999, 999])
    func `a server gets no token while another user has a connection at its address`(user: Int) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let script = """
                import socket, sys
                listener = socket.create_server(("127.0.0.1", 0))
                print("port", listener.getsockname()[1], file=sys.stderr, flush=True)
                connection, _ = listener.accept()
                listener.close()
                print("kept", file=sys.stderr, flush=True)
                connection.recv(1)
                """
            let words = ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "python3", "-c", script]
            let keeper = try fixture.start(words, [])
            defer { keeper.send(SIGKILL) }
            let line = try await keeper.line { $0.hasPrefix("port ") }
            let port = try #require(UInt16(line.dropFirst(5)))
            let client = try fixture.start(
                ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/\(port) && exec sleep 600"], [])
            defer { client.send(SIGKILL) }
            _ = try await keeper.line { $0 == "kept" }
            // The server of this user begins to listen at the same port.
            let serve = "import socket, sys; s = socket.create_server((\"127.0.0.1\", \(port))); "
            let wait = "print(\"ready\", file=sys.stderr, flush=True); s.accept()"
            let server = try fixture.start(["python3", "-c", serve + wait], [])
            defer { server.send(SIGKILL) }
            _ = try await server.line { $0 == "ready" }
            let outcome = try await fixture.helper(
                "git", ["--host", "127.0.0.1:\(port)", "--profile", "work", "get"],
                input: "protocol=http\nhost=127.0.0.1:\(port)\n\n"
            ).outcome()
            #expect(outcome.output.isEmpty == (user == 1999), "\(outcome)")
            #expect(outcome.errors.contains("number \(user)") == (user == 1999), "\(outcome)")
        }
    }
}
