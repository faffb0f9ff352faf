import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// `sign-in proxy`, with curl as the program that cannot sign in.
@Suite(.timeLimit(.minutes(5)))
struct ProxyCommandTests {
    /// Starts the proxy, and returns the address that it prints.
    private func start(
        _ fixture: CommandFixture, _ arguments: String...
    ) async throws -> (process: ChildProcess, address: String) {
        let process = try fixture.start(["proxy", "--json", "\(fixture.issuer)/api/"] + arguments)
        let line = try await process.outputLine { !$0.isEmpty }
        return (process, try #require(try JSON(parsing: Array(line.utf8))["address"]?.string))
    }

    @Test func `a program reaches the API at a port`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let (process, address) = try await start(fixture)
            #expect(address.hasPrefix("http://127.0.0.1:") && address.hasSuffix("/api/"))
            let response = try await curl(fixture, address + "echo?a=b", "-d", "body")
            #expect(response.status == 200)
            #expect(response.body?["client_id"]?.string == "demo")
            #expect(response.body?["body"]?.string == "body")
            #expect(try await curl(fixture, address.replacing("/api/", with: "/userinfo")).status == 404)
            let port = try #require(URL(string: address)?.port)
            for (host, status) in [
                ("localhost:\(port)", 200), ("rebound.example:\(port)", 421), ("localhost:\(port - 1)", 421),
            ] {
                #expect(try await curl(fixture, address + "echo", "-H", "Host: \(host)").status == status)
            }
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
        }
    }

    @Test func `only pages of an allowed origin reach the API`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let origins = ["http://localhost:5173", "https://app.example"]
            let (process, address) = try await start(
                fixture, "--allow-origin", origins[0], "--allow-origin", origins[1])
            for (origin, status) in [(origins[0], 200), (origins[1], 200), ("http://localhost:5174", 403)] {
                #expect(try await curl(fixture, address + "echo", "-H", "Origin: \(origin)").status == status)
            }
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test(arguments: ["000", "022"]) func `other users can never open the socket`(umask: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let socket = fixture.home + "/socket"
            let process = try fixture.start(
                ["sh", "-c", "umask \(umask); exec \"$@\"", "sh", BuiltProducts.path("sign-in")],
                ["proxy", "\(fixture.issuer)/api/", "--socket", socket])
            _ = try await process.outputLine { !$0.isEmpty }
            var status = stat()
            #expect(lstat(socket, &status) == 0 && status.st_mode == S_IFSOCK | 0o600)
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test func `a proxy goes on when the user has signed in again`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--profile", "work").result()
            let socket = fixture.home + "/socket"
            let (process, address) = try await start(fixture, "--socket", socket, "--profile", "work")
            #expect(address == socket)
            let echo = ["--unix-socket", socket, "http://localhost/api/echo"]
            #expect(try await curl(fixture, echo[0], echo[1], echo[2]).status == 200)
            _ = try await fixture.run("logout", "--revoke-only", "--json", "--profile", "work").result()
            let ended = try await curl(fixture, echo[0], echo[1], echo[2])
            #expect(ended.status == 503)
            #expect(ended.body?["error"]?["code"]?.string == "sign_in_required")
            let remedy = try #require(ended.body?["error"]?["remedy"]?.string)
            #expect(remedy == "sign-in login --profile work")
            let again = try await ChildProcess(["sh", "-c", remedy], environment: fixture.environment).outcome()
            #expect(again.status == 0, "\(again)")
            #expect(try await curl(fixture, echo[0], echo[1], echo[2]).status == 200)
            process.send(SIGTERM)
            #expect(try await process.outcome().status == 1)
            #expect(!FileManager.default.fileExists(atPath: socket))
        }
    }

    /// This needs real time: a proxy looks for a sign-out once a second.
    @Test func `after a sign-out, a proxy adds no token, even if the server would still accept it`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            fixture.provider.fault(.status(.ok), at: .api, times: nil)
            let (process, address) = try await start(fixture, "--profile", "work")
            #expect(try await curl(fixture, address + "echo").status == 200)
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "work").result()
            try await waitUntil { try await curl(fixture, address + "echo").status == 503 }
            let count = fixture.provider.count(.api)
            let ended = try await curl(fixture, address + "echo")
            #expect(ended.body?["error"]?["remedy"]?.string == "sign-in login --profile work")
            #expect(fixture.provider.count(.api) == count)
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test func `a remedy is for the session of the proxy, whatever profile is in use by then`() async throws {
        try await withDesk { fixture in
            for profile in ["work", "other"] { try await fixture.signIn(profile: profile) }
            _ = try await fixture.run("use", "work")
            let (process, address) = try await start(fixture)
            _ = try await fixture.run("use", "other")
            _ = try await fixture.run("logout", "--revoke-only", "--profile", "work")
            let ended = try await curl(fixture, address + "echo")
            #expect(ended.status == 503)
            #expect(ended.body?["error"]?["remedy"]?.string == "sign-in login --profile work")
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test func `what a server demands is no remedy for a session that has taken the place of the proxy's`() async throws
    {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="gold""#
            let login = fixture.loginArguments(["--resource", resource, "--profile", "work"])
            _ = try await fixture.start(login).outcome().result()
            let process = try fixture.start(["proxy", "--resource", resource, "--profile", "work"])
            let address = try await process.outputLine { !$0.isEmpty }
            // With another store, the profile is another session's, and the proxy's is not replaced.
            let (elsewhere, found) = ("file:\(fixture.home)/elsewhere.json", "file:\(fixture.sessions)/work.json")
            for (store, isRemedied) in [(nil, true), (elsewhere, true), (found, false)] as [(String?, Bool)] {
                if let store {
                    // Another session has the name, and the proxy's is where it was.
                    try FileManager.default.removeItem(atPath: fixture.sessions + "/work.profile")
                    _ = try await fixture.start(login + ["--store", store]).outcome().result()
                }
                fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
                let error = try await curl(fixture, address).body?["error"]
                // Within a second, the proxy has not noticed yet that its session was replaced.
                let code = error?["code"]?.string ?? ""
                #expect(code == "step_up_required" || !isRemedied && code == "session_replaced", "\(code)")
                let remedy = error?["remedy"]?.string
                #expect((remedy != nil) == isRemedied, "\(String(describing: error))")
                #expect(remedy?.contains("--profile work") != (store != nil), "\(String(describing: remedy))")
                #expect(remedy?.contains("--store") != true, "\(String(describing: remedy))")
            }
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test func `a bound token is proven for each request`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.dpopNonce = .required()
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login("--dpop").result()
            let (process, address) = try await start(fixture)
            // A client's body is sent once more with the server's nonce.
            for _ in 0..<2 {
                let response = try await curl(fixture, address + "echo", "-d", "body")
                #expect(response.status == 200)
                #expect(response.body?["body"]?.string == "body")
            }
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    /// Opens a socket, and starts the proxy with it (sd_listen_fds(3)), twice, as systemd does.
    private static let activation = """
        import os, socket, sys
        isPath = "/" in sys.argv[1]
        listener = socket.socket(socket.AF_UNIX if isPath else socket.AF_INET)
        listener.bind(sys.argv[1] if isPath else (sys.argv[1], 0))
        listener.listen(8)
        for _ in range(2):
            process = os.fork()
            if process == 0:
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
                os.execvp("sign-in", ["sign-in", "proxy", sys.argv[2]])
            print(process, flush=True)
            os.waitpid(process, 0)
        """

    @Test(arguments: ["/socket", "127.0.0.1"])
    func `a socket of systemd outlives the proxy`(place: String) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let socket = (place == "/socket" ? fixture.home : "") + place
            let parent = try ChildProcess(
                ["python3", "-c", Self.activation, socket, "\(fixture.issuer)/api/"], environment: fixture.environment)
            var last = ""
            for _ in 0..<2 {
                let former = last
                last = try await parent.outputLine { Int32($0) != nil && $0 != former }
                let address = try await parent.outputLine { Int32($0) == nil }
                let response =
                    try await place == "/socket"
                    ? curl(fixture, "--unix-socket", socket, "http://localhost/api/echo")
                    : curl(fixture, address + "echo")
                #expect(response.status == 200)
                kill(try #require(Int32(last)), SIGTERM)
            }
            _ = try await parent.outcome()
        }
    }

    /// The client would otherwise see the end of its connection, and the unit would fail.
    @Test func `before the sign-in, a client at a socket of systemd is told how to sign in`() async throws {
        try await withDesk { fixture in
            let parent = try ChildProcess(
                ["python3", "-c", Self.activation, "127.0.0.1", "\(fixture.issuer)/api/"],
                environment: fixture.environment)
            let process = try await parent.outputLine { Int32($0) != nil }
            let address = try await parent.outputLine { Int32($0) == nil }
            for _ in 0..<2 {
                let refused = try await curl(fixture, address + "echo")
                #expect(refused.status == 503)
                #expect(refused.body?["error"]?["code"]?.string == "sign_in_required", "\(refused)")
                let message = refused.body?["error"]?["message"]?.string ?? ""
                #expect(message.contains("Sign in with: sign-in login"), "\(message)")
            }
            try await fixture.signIn()
            #expect(try await curl(fixture, address + "echo").status == 200)
            _ = try await fixture.run("logout", "--revoke-only")
            #expect(try await curl(fixture, address + "echo").status == 503)
            kill(try #require(Int32(process)), SIGTERM)
            let next = try await parent.outputLine { Int32($0) != nil && $0 != process }
            kill(try #require(Int32(next)), SIGTERM)
            _ = try await parent.outcome()
        }
    }

    @Test func `a socket of systemd that other machines reach is refused`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let outcome = try await ChildProcess(
                ["python3", "-c", Self.activation, "0.0.0.0", "\(fixture.issuer)/api/"],
                environment: fixture.environment
            ).outcome()
            #expect(outcome.errors.contains("expected sockets on 127.0.0.1 or [::1]"), "\(outcome)")
            #expect(!outcome.output.contains("http:"))
        }
    }

    @Test(arguments: [(2, true), (60, false)])
    func `the line that meets the resource's demand is whole, or there is none`(count: Int, isShown: Bool) async throws
    {
        try await withDesk { fixture in
            let resource = "\(fixture.issuer)/api/echo"
            _ = try await fixture.login("--resource", resource, "--profile", "work").result()
            let classes = (0..<count).map { "urn:class:\($0)" }.joined(separator: " ")
            let challenge = #"Bearer error="insufficient_user_authentication", acr_values="\#(classes)", max_age="60""#
            fixture.provider.fault(.status(.unauthorized, [.wwwAuthenticate: challenge]), at: .api)
            let process = try fixture.start(["proxy", "--resource", resource, "--profile", "work"])
            let address = try await process.outputLine { !$0.isEmpty }
            let error = try await curl(fixture, address).body?["error"]
            // An issuer that only the profile remembers would be the user's agreement to it.
            let line = "sign-in login --profile work --acr-values '\(classes)' --max-age 60"
            #expect(error?["remedy"]?.string == (isShown ? line : nil), "\(String(describing: error))")
            #expect(error?["code"]?.string == "step_up_required")
            let message = error?["message"]?.string ?? ""
            #expect(message.contains("the class 'urn:class:0' or"), "\(message)")
            #expect(message.hasSuffix("a sign-in that is at most 60 s old."), "\(message)")
            process.send(SIGTERM)
            _ = try await process.outcome()
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can be another user for a moment"))
    func `programs of other users get no response`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            func status(_ prefix: [String], _ arguments: [String]) async throws -> String {
                let curl = prefix + ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}"] + arguments
                return try await ChildProcess(curl, environment: fixture.environment).outcome().output
            }
            let other = ["setpriv", "--reuid=65534", "--clear-groups"]
            let (port, address) = try await start(fixture)
            #expect(try await status([], [address + "echo"]) == "200")
            #expect(try await status(other, [address + "echo"]) == "000")
            let path = fixture.home + "/socket"
            let (socket, _) = try await start(fixture, "--socket", path)
            // As if systemd had opened it with another mode.
            #expect(chmod(fixture.home, 0o711) == 0 && chmod(path, 0o666) == 0)
            let arguments = ["--unix-socket", path, "http://localhost/api/echo"]
            #expect(try await status([], arguments) == "200")
            #expect(try await status(other, arguments) == "000")
            for process in [port, socket] {
                process.send(SIGTERM)
                _ = try await process.outcome()
            }
        }
    }

    @Test func `another user's folder and a taken socket are refused`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let open = fixture.home + "/open"
            let server = "\(fixture.issuer)/api/"
            // A user who can rename a folder above it can replace it too.
            let below = open + "/below"
            try FileManager.default.createDirectory(
                atPath: below, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let ours: [(mode_t, uid_t)] = [(0o720, geteuid()), (0o702, geteuid())]
            for (mode, owner) in ours + (geteuid() == 0 ? [(0o700, 65534)] : []) {
                #expect(chmod(open, mode) == 0 && chown(open, owner, gid_t.max) == 0)
                for folder in [open, below] {
                    let refused = try await fixture.run("proxy", "--json", server, "--socket", folder + "/socket")
                    #expect(refused.status == 1)
                    #expect(refused.output.contains("other users can change the folder \(open)."), "\(refused)")
                }
            }
            let socket = fixture.home + "/socket"
            let (process, _) = try await start(fixture, "--socket", socket)
            let taken = try await fixture.run("proxy", "--json", server, "--socket", socket)
            #expect(taken.status == 1)
            #expect(taken.output.contains("another program listens there"))
            // A process that was killed leaves its socket, which is replaced.
            process.send(SIGKILL)
            _ = try await process.outcome()
            #expect(FileManager.default.fileExists(atPath: socket))
            let (next, _) = try await start(fixture, "--socket", socket)
            #expect(try await curl(fixture, "--unix-socket", socket, "http://localhost/api/echo").status == 200)
            next.send(SIGTERM)
            _ = try await next.outcome()
        }
    }

    @Test func `wrong usage is refused`() async throws {
        try await withDesk { fixture in
            let server = "https://api.example.org"
            for arguments in [
                [], [server, "--resource", server], [server, "--port", "65536"],
                [server, "--port", "1", "--socket", "a"],
            ] {
                let outcome = try await fixture.start(["proxy"] + arguments).outcome()
                #expect(outcome.status == 2, "\(arguments): \(outcome)")
            }
        }
    }
}
