import AppAuth
import Foundation
import TestFixtures
import Testing

/// What is in the memory of a program in a sandbox, which has the proxy's socket and no network.
@Suite(.timeLimit(.minutes(5)))
struct SandboxMemoryTests {
    /// Makes two requests in the sandbox, of which the second has a stream for a response, and keeps all that it gets.
    private static let program = """
        import http.client, socket, sys
        class API(http.client.HTTPConnection):
            def connect(self):
                self.sock = socket.socket(socket.AF_UNIX)
                self.sock.connect("/run/api")
        (api, kept) = (API("localhost"), [])
        for path in ("/v1/me", "/v1/events"):
            api.request("GET", path)
            response = api.getresponse()
            kept += [str(response.headers), response.read(1)]
            print(path, response.status, flush=True)
            if path == "/v1/me": kept.append(response.read())
        sys.stdin.readline()
        kept.append(response.read())
        print("over", flush=True)
        sys.stdin.readline()
        """

    @Test(.enabled(if: geteuid() == 0, "only root can always read the memory of a sandbox"))
    func `neither a token nor a key is in the memory of a sandbox`() async throws {
        try await ProxyDesk.run { desk in
            let (fixture, commands) = (desk.fixture, try desk.blocks(below: "A program in a sandbox"))
            _ = try await fixture.login("--dpop", "--profile", "work").result()
            let secrets = try desk.secrets()
            let proxy = try await desk.serve(commands[0])
            let input = Pipe.exclusive()
            // The article's sandbox, with another program than curl.
            let words = try #require(commands[1].firstRange(of: "curl")).lowerBound
            let sandbox = try fixture.start(
                ["sh", "-c", "exec \(commands[1][..<words]) python3 -c \"$1\"", "sh", Self.program], [],
                input: .descriptor(input.fileHandleForReading.fileDescriptor))
            for (line, isOver) in [("/v1/events 200", false), ("over", true)] {
                if isOver {
                    desk.mayEnd.signal()
                    try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
                }
                _ = try await sandbox.outputLine { $0 == line }
                let processes = try Processes.family(of: sandbox.id)
                // That of bubblewrap, the first one inside, and the program.
                #expect(processes.count == 3)
                for process in processes {
                    #expect(try await desk.found(secrets, inMemoryOf: process) == "")
                }
            }
            // The same search finds them where they are.
            let found = try await desk.found(secrets, inMemoryOf: proxy.id)
            for name in ["access token", "refresh token", "key"] { #expect(found.contains(name), "\(found)") }
            try input.fileHandleForWriting.close()
            #expect(try await sandbox.outcome().status == 0)
            proxy.send(SIGTERM)
            _ = try await proxy.outcome()
        }
    }
}

extension ProxyDesk {
    /// The session's tokens and its private key, as text and as the number in both orders of bytes.
    fileprivate func secrets() throws -> [String: [UInt8]] {
        let file = URL(filePath: fixture.sessions + "/work.json")
        let record = try AuthStateRecord(decoding: Array(Data(contentsOf: file)), from: fixture.sessions)
        let pem = try #require(record.proofKey?.pem.reveal())
        let text = pem.split(separator: "\n").filter { !$0.hasPrefix("-") }
        // RFC 5915 §3: the version 1, and an octet string of 32 bytes.
        let der = Array(try #require(Data(base64Encoded: text.joined())))
        let start = try #require(der.firstRange(of: [2, 1, 1, 4, 32])).upperBound
        let number = Array(der[start..<(start + 32)])
        func bytes(_ token: Secret?) throws -> [UInt8] { Array(try #require(token).reveal().utf8) }
        return [
            "access token": try bytes(record.accessToken?.value), "refresh token": try bytes(record.refreshToken),
            "text of the key": Array(text[0].utf8), "key": number, "key in reverse": number.reversed(),
        ]
    }

    /// Returns the names of those secrets that are in the readable memory of a process.
    fileprivate func found(_ secrets: [String: [UInt8]], inMemoryOf process: pid_t) async throws -> String {
        let search = """
            import sys
            secrets = [(name, bytes.fromhex(digits)) for name, digits in (word.split(":") for word in sys.argv[2:])]
            found = set()
            with open(f"/proc/{sys.argv[1]}/maps") as maps, open(f"/proc/{sys.argv[1]}/mem", "rb", 0) as memory:
                for ends, rights in (line.split()[:2] for line in maps):
                    start, end = (int(digits, 16) for digits in ends.split("-"))
                    # The kernel's own pages are elsewhere, or cannot be read.
                    if rights[0] != "r" or start >> 63: continue
                    memory.seek(start)
                    try: content = memory.read(end - start)
                    except OSError: continue
                    found |= {name for name, secret in secrets if secret in content}
            print(", ".join(sorted(found)), end="")
            """
        let words = secrets.map { "\($0):\($1.map { String(format: "%02x", $0) }.joined())" }
        return try await output(["python3", "-c", search, "\(process)"] + words)
    }
}
